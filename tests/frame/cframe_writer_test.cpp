// Writing to contiguous frames: what a commit leaves, for every kind of change.

#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "frame/frame_snapshot.hpp"
#include "tests/frame/writing.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

Buffer joined(const std::vector<Buffer>& parts) {
  Buffer all;
  for (const Buffer& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

int errno_of(const std::function<void()>& call) {
  try {
    call();
    return 0;
  } catch (const std::system_error& error) {
    return error.code().default_error_condition().value();
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cframe_writer)

BOOST_AUTO_TEST_CASE(makes_a_frame_of_given_contents) {
  const auto disk = MemoryDisk::make();
  const Buffer content = pattern(10000, 1);
  const auto writer = make_frame(disk, "f", content);
  BOOST_TEST(contents_of(*writer->snapshot()).bytes == content);
  BOOST_TEST(contents_on(disk, "f").bytes == content);
  BOOST_TEST(writer->snapshot()->info().nchunks == 3);
  BOOST_TEST(writer->snapshot()->info().frame_len == std::ssize(disk->bytes("f")));
}

BOOST_AUTO_TEST_CASE(makes_an_empty_frame) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", {});
  BOOST_TEST(contents_on(disk, "f").bytes.empty());
  BOOST_TEST(disk->bytes("f").size() == 132u);
}

BOOST_AUTO_TEST_CASE(adds_little_to_a_small_file) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(100, 1));
  BOOST_TEST(disk->bytes("f").size() < 100u + 256u);
  BOOST_TEST(contents_on(disk, "f").bytes == pattern(100, 1));
}

BOOST_AUTO_TEST_CASE(replaces_a_chunk) {
  const auto disk = MemoryDisk::make();
  const Buffer one = pattern(4096, 1), two = pattern(4096, 2), three = pattern(100, 3);
  const auto writer = make_frame(disk, "f", joined({one, two, three}));
  const auto before = writer->snapshot();
  const auto transaction = writer->begin();
  put_content(*transaction, 1, pattern(4096, 9));
  BOOST_TEST(contents_on(disk, "f").bytes == joined({one, two, three}));
  const auto after = transaction->commit();
  BOOST_TEST(contents_of(*after).bytes == joined({one, pattern(4096, 9), three}));
  BOOST_TEST(contents_on(disk, "f").bytes == joined({one, pattern(4096, 9), three}));
  BOOST_TEST(contents_of(*before).bytes == joined({one, two, three}));
  BOOST_TEST(before->unchanged());
  BOOST_TEST(after->unchanged());
}

BOOST_AUTO_TEST_CASE(grows_and_shrinks) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(5000, 1));
  auto transaction = writer->begin();
  transaction->resize(20000);
  Buffer second = pattern(5000, 1);
  second.resize(20000);
  second.resize(8192);
  put_content(*transaction, 1, Buffer(second.begin() + 4096, second.end()));
  transaction->commit();
  transaction.reset();
  second.resize(20000);
  BOOST_TEST(contents_on(disk, "f").bytes == second);
  transaction = writer->begin();
  transaction->resize(4096);
  transaction->commit();
  second.resize(4096);
  BOOST_TEST(contents_on(disk, "f").bytes == second);
}

BOOST_AUTO_TEST_CASE(refuses_a_last_chunk_of_the_wrong_size) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(5000, 1));
  {
    const auto transaction = writer->begin();
    transaction->resize(6000);
    BOOST_TEST(errno_of([&] { transaction->write(); }) == EINVAL);
    put_content(*transaction, 1, pattern(1904, 1));
    transaction->commit();
  }
  BOOST_TEST(contents_on(disk, "f").bytes.size() == 6000u);
  const auto transaction = writer->begin();
  put_content(*transaction, 0, pattern(1904, 1));
  BOOST_TEST(errno_of([&] { transaction->write(); }) == EINVAL);
}

BOOST_AUTO_TEST_CASE(empties_a_frame_and_fills_it_again) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(10000, 1));
  for (unsigned i = 0; i < 4; ++i) {
    auto transaction = writer->begin();
    transaction->resize(0);
    transaction->commit();
    transaction.reset();
    BOOST_TEST(contents_on(disk, "f").bytes.empty());
    transaction = writer->begin();
    put_all(*transaction, pattern(9000, i));
    transaction->commit();
    BOOST_TEST(contents_on(disk, "f").bytes == pattern(9000, i));
  }
  BOOST_TEST(disk->names().size() == 1u);
}

BOOST_AUTO_TEST_CASE(keeps_vlmetalayers) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(5000, 1));
  auto transaction = writer->begin();
  transaction->set_vlmetalayer("a", pattern(3000, 1));
  transaction->set_vlmetalayer("empty", {});
  transaction->set_vlmetalayer("zeros", Buffer(500));
  transaction->commit();
  transaction = writer->begin();
  BOOST_TEST(!transaction->remove_vlmetalayer("b"));
  BOOST_TEST(transaction->remove_vlmetalayer("empty"));
  transaction->set_vlmetalayer("a", pattern(20, 2));
  transaction->set_vlmetalayer("c", pattern(30, 3));
  transaction->commit();
  const std::map<std::string, Buffer> expected{
      {"a", pattern(20, 2)}, {"zeros", Buffer(500)}, {"c", pattern(30, 3)}};
  BOOST_CHECK(contents_on(disk, "f").vlmetalayers == expected);
  BOOST_TEST(contents_on(disk, "f").bytes == pattern(5000, 1));
}

BOOST_AUTO_TEST_CASE(takes_back_what_is_not_committed) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(5000, 1));
  for (int i = 0; i < 20; ++i) {
    const auto transaction = writer->begin();
    put_content(*transaction, 0, pattern(4096, 2));
    transaction->set_vlmetalayer("a", pattern(3000, 1));
    transaction->write();
    transaction->flush();
  }
  BOOST_TEST(contents_on(disk, "f").bytes == pattern(5000, 1));
  BOOST_TEST(writer->snapshot()->unchanged());
  writer->tidy();
  BOOST_TEST(writer->snapshot()->info().frame_len == std::ssize(disk->bytes("f")));
}

BOOST_AUTO_TEST_SUITE_END()
