// Stores that fail at each operation in turn. The committed state must stay, and a retry must
// succeed.

#include <algorithm>
#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "tests/frame/errno_of.hpp"
#include "tests/frame/random_edit.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

/// Makes changes of every kind that one commit can have.
void change(Transaction& transaction, FrameContents& model) {
  model.bytes.resize(7 * 4096);
  const Buffer second = pattern(4096, 5);
  std::copy(second.begin(), second.end(), model.bytes.begin() + 4096);
  model.vlmetalayers["a"] = pattern(700, 6);
  transaction.resize(std::ssize(model.bytes));
  put_content(transaction, 1, second);
  transaction.put_special(2, codec::SpecialValue::zero);
  std::fill_n(model.bytes.begin() + 8192, 4096, std::uint8_t{0});
  const auto chunk = [&](int number) {
    return Buffer(model.bytes.begin() + number * 4096, model.bytes.begin() + (number + 1) * 4096);
  };
  std::copy(second.begin(), second.end(), model.bytes.begin() + 5 * 4096);
  put_contents(transaction, {{0, chunk(0)}, {3, chunk(3)}, {4, chunk(4)}, {5, second}}, 4);
  transaction.set_vlmetalayer("a", model.vlmetalayers["a"]);
}

std::vector<std::string> all_names(MemoryDisk& disk, ContainerKind kind) {
  return kind == ContainerKind::cframe ? disk.names() : disk.root()->open_directory("f")->names();
}

struct Fixture {
  explicit Fixture(ContainerKind frame_kind) : kind(frame_kind) {
    model.bytes = pattern(18000, 1);
    FrameSettings settings = small_chunks();
    settings.checksums = true;
    const WriterSettings no_grace{.grace = std::chrono::milliseconds(0)};
    writer = make_frame(disk, "f", model.bytes, settings, no_grace, kind);
    model = contents_on(disk, "f");
  }

  ContainerKind kind;
  std::shared_ptr<MemoryDisk> disk = MemoryDisk::make();
  std::unique_ptr<FrameWriter> writer;
  FrameContents model;
};

using Fail = void (*)(MemoryDisk&, std::size_t, int);

/// Lets a commit fail at operation `number`, and retries it. Returns false if the commit made fewer
/// operations.
bool commit_fails_and_is_repeated(ContainerKind kind, Fail fail, std::size_t number, int error) {
  Fixture frame(kind);
  const FrameContents before = frame.model;
  fail(*frame.disk, number, error);
  FrameContents after = before;
  const int found = errno_of([&] {
    const auto transaction = frame.writer->begin();
    change(*transaction, after);
    transaction->commit();
  });
  stop_failing(*frame.disk);
  if (found == 0) return false;
  BOOST_TEST(found == error);
  FrameContents left = contents_on(frame.disk, "f");
  if (errno_of([&] { frame.writer->begin(); }) == EIO) {
    // The header may have been switched, and the writer could not restore it. The test opens the
    // frame again.
    const bool is_old = left == before;
    left.vlmetalayers.erase("bloscfs.xxh3");
    after.vlmetalayers.erase("bloscfs.xxh3");
    BOOST_CHECK_MESSAGE(is_old || left == after, "after failure at " << number);
    frame.writer = open_writer(frame.disk, "f");
  } else {
    BOOST_CHECK_MESSAGE(left == before, "after failure at " << number);
  }
  after = before;
  auto transaction = frame.writer->begin();
  change(*transaction, after);
  FrameContents committed = contents_of(*transaction->commit());
  committed.vlmetalayers.erase("bloscfs.xxh3");
  after.vlmetalayers.erase("bloscfs.xxh3");
  BOOST_CHECK_MESSAGE(committed == after, "second try after failure at " << number);
  const auto names = all_names(*frame.disk, kind);
  // If all later operations fail, too, files that were to be removed may stay.
  if (fail == &fail_at)
    BOOST_TEST(std::none_of(names.begin(), names.end(), [](const std::string& name) {
      return name.find(".tmp") != std::string::npos;
    }));
  return true;
}

void check_all_failures(ContainerKind kind) {
  for (const Fail fail : {&fail_from, &fail_at}) {
    for (const int error : {ENOSPC, EIO}) {
      std::size_t number = 0;
      while (commit_fails_and_is_repeated(kind, fail, number, error)) ++number;
      BOOST_TEST(number > 6u);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(store_failures)

BOOST_AUTO_TEST_CASE(leave_a_contiguous_frame_as_it_was) {
  check_all_failures(ContainerKind::cframe);
}

BOOST_AUTO_TEST_CASE(leave_a_sparse_frame_as_it_was) { check_all_failures(ContainerKind::sframe); }

BOOST_AUTO_TEST_CASE(let_a_change_be_tried_again_in_the_same_transaction) {
  for (const ContainerKind kind : {ContainerKind::cframe, ContainerKind::sframe}) {
    Fixture frame(kind);
    const auto transaction = frame.writer->begin();
    fail_from(*frame.disk, 0, ENOSPC);
    BOOST_TEST(errno_of([&] { put_content(*transaction, 0, pattern(4096, 9)); }) == ENOSPC);
    stop_failing(*frame.disk);
    put_content(*transaction, 0, pattern(4096, 9));
    // A commit to a sparse frame makes the new index file first.
    fail_from(*frame.disk, kind == ContainerKind::cframe ? 0 : 1, ENOSPC);
    BOOST_TEST(errno_of([&] { transaction->write(); }) == ENOSPC);
    stop_failing(*frame.disk);
    transaction->commit();
    const Buffer first = pattern(4096, 9);
    std::copy(first.begin(), first.end(), frame.model.bytes.begin());
    BOOST_TEST(contents_on(frame.disk, "f").bytes == frame.model.bytes);
  }
}

BOOST_AUTO_TEST_CASE(leave_no_trace_of_a_failed_compaction) {
  Fixture frame(ContainerKind::cframe);
  for (std::size_t number = 0;; ++number) {
    fail_from(*frame.disk, number, EIO);
    const int found = errno_of([&] { frame.writer->compact(); });
    stop_failing(*frame.disk);
    BOOST_CHECK(contents_on(frame.disk, "f") == frame.model);
    if (found == 0) break;
    if (errno_of([&] { frame.writer->begin(); }) == EIO)
      frame.writer = open_writer(frame.disk, "f");
  }
}

BOOST_AUTO_TEST_SUITE_END()
