// Commits in which one system call fails. Whichever call it is, the written bytes stay dirty, and
// the next commit stores them.

#include <atomic>
#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/mount/watched_calls.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {
namespace {

/// Makes one call fail with EIO. `number` counts the calls that change SOURCE, from 0.
class FailedStep {
 public:
  explicit FailedStep(int number)
      : watched_([this, number](Call call, const std::string& path) {
          if (call == Call::look || call == Call::read || count_++ != number) return 0;
          has_failed_ = true;
          is_removal_ = call == Call::remove || (call == Call::rename && path.ends_with(".tmp"));
          return EIO;
        }) {}
  bool has_failed() const { return has_failed_; }
  /// True if the call removes a file. A commit gives a file the name of a temporary before it
  /// removes it.
  bool is_removal() const { return is_removal_; }

 private:
  std::atomic<int> count_{0};
  std::atomic<bool> has_failed_{false}, is_removal_{false};
  const WatchedCalls watched_;
};

ByteVector npy_file(std::int64_t rows) {
  const std::string header = npy_header("<f8", {rows, 10});
  const auto size = static_cast<std::size_t>(rows) * 80;
  return with_bytes(bytes_of(header), header.size(), make_contents("floats", 4, size, 8));
}

/// A kind of commit, and the file that it commits. `shown` is its name in the mount, `stored` its
/// name in SOURCE.
struct Kind {
  std::string shown, stored, options;
  void (*prepare)(const fs_std::path& source, InProcess& mount);
  /// Makes the change that the commit stores, and leaves no file open.
  void (*change)(InProcess& mount);
  ByteVector expected;
  /// The name that the file may keep if the commit fails after it has published the file there.
  std::string placed_as = stored;
};

void prepare_nothing(const fs_std::path&, InProcess&) {}

/// Checks that SOURCE and the mount have the file under that name, and nothing else.
void check_stored(const Kind& kind, const std::string& name, const fs_std::path& source) {
  BOOST_TEST(stored_names(source) == Names{name}, boost::test_tools::per_element());
  BOOST_CHECK(shown_contents(source / name) == kind.expected);
}

/// Makes the given call of a commit fail. Returns false if the commit makes fewer calls.
bool fail_step(const Kind& kind, int step) {
  const TempDir source;
  InProcess mount(source.path(), kind.options);
  kind.prepare(source.path(), mount);
  kind.change(mount);
  bool may_leave_names = false;
  {
    const FailedStep failed(step);
    const int error = error_of([&] { mount.open(kind.shown, O_RDONLY).sync(); });
    if (!failed.has_failed()) {
      BOOST_TEST(error == 0);
      mount.end();
      check_stored(kind, kind.stored, source.path());
      return false;
    }
    may_leave_names = error == 0 || failed.is_removal();
  }
  BOOST_CHECK(mount.read(kind.shown) == kind.expected);
  BOOST_TEST(error_of([&] { mount->commit_written(); }) == 0);
  BOOST_TEST(mount->stats().dirty_bytes == 0u);
  BOOST_CHECK(mount.read(kind.shown) == kind.expected);
  mount.end();
  // A file that could not be removed may stay, since a commit may take it for another program's. A
  // frame may also keep the name `placed_as`.
  if (may_leave_names) return true;
  const bool has_own_name = fs_std::exists(source / kind.stored);
  check_stored(kind, has_own_name ? kind.stored : kind.placed_as, source.path());
  return true;
}

/// Tests the failure of each call that such a commit makes.
void fail_each_step(const Kind& kind) {
  int step = 0;
  for (bool has_more = true; has_more; step++)
    BOOST_TEST_CONTEXT("call " << step) has_more = fail_step(kind, step);
  BOOST_TEST(step > 1);
}

const ByteVector& old_text() {
  static const ByteVector text = make_contents("text", 1, 200000, 1);
  return text;
}

const ByteVector& noise() {
  static const ByteVector bytes = make_contents("noise", 2, 90000, 1);
  return bytes;
}

void prepare_frame(const fs_std::path& source, InProcess&) {
  write_file(source / "a.b2frame", flat_frame(old_text()));
}

void prepare_array(const fs_std::path&, InProcess& mount) {
  mount.write("a.npy", npy_file(1000));
  mount->commit_written();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(failing_steps)

BOOST_AUTO_TEST_CASE(of_a_new_file) {
  fail_each_step({"a", "a.b2frame", "", prepare_nothing,
                  [](InProcess& mount) { mount.write("a", old_text()); }, old_text()});
}

BOOST_AUTO_TEST_CASE(of_a_new_array) {
  fail_each_step({"a.npy", "a.b2nd", "", prepare_nothing,
                  [](InProcess& mount) { mount.write("a.npy", npy_file(1000)); }, npy_file(1000)});
}

BOOST_AUTO_TEST_CASE(of_a_change_in_place) {
  fail_each_step({"a", "a.b2frame", "", prepare_frame,
                  [](InProcess& mount) { mount.open("a").write(70000, noise()); },
                  with_bytes(old_text(), 70000, noise())});
}

BOOST_AUTO_TEST_CASE(of_a_file_that_is_cut_off) {
  fail_each_step({"a", "a.b2frame", "", prepare_frame,
                  [](InProcess& mount) {
                    mount.resize("a", 100);
                    mount.resize("a", 150000);
                  },
                  with_bytes(ByteVector(150000), 0,
                             ByteVector(old_text().begin(), old_text().begin() + 100))});
}

BOOST_AUTO_TEST_CASE(of_a_file_that_is_emptied) {
  fail_each_step(
      {"a", "a.b2frame", "", prepare_frame, [](InProcess& mount) { mount.resize("a", 0); }, {}});
}

BOOST_AUTO_TEST_CASE(of_a_sparse_frame) {
  fail_each_step({"a", "a.b2frame", "",
                  [](const fs_std::path& source, InProcess&) {
                    write_sparse_frame(source / "a.b2frame", old_text());
                  },
                  [](InProcess& mount) { mount.open("a").write(70000, noise()); },
                  with_bytes(old_text(), 70000, noise())});
}

BOOST_AUTO_TEST_CASE(of_a_frame_that_gets_a_metalayer) {
  fail_each_step({"a", "a.b2frame", "", prepare_frame,
                  [](InProcess& mount) {
                    mount.set_attribute("a", "user.blosc2.meta.m", std::string(2000, 'm'));
                    mount.open("a").write(0, noise());
                  },
                  with_bytes(old_text(), 0, noise())});
}

BOOST_AUTO_TEST_CASE(of_a_file_that_becomes_an_array) {
  fail_each_step({"a.npy", "a.b2nd", "",
                  [](const fs_std::path& source, InProcess&) {
                    write_file(source / "a.npy.b2frame", flat_frame(old_text()));
                  },
                  [](InProcess& mount) { mount.write("a.npy", npy_file(1000)); }, npy_file(1000),
                  "a.npy.b2frame"});
}

BOOST_AUTO_TEST_CASE(of_an_array_that_becomes_flat) {
  fail_each_step({"a.npy", "a.npy.b2frame", "", prepare_array,
                  [](InProcess& mount) { mount.write("a.npy", old_text()); }, old_text()});
}

BOOST_AUTO_TEST_CASE(of_an_array_that_becomes_another) {
  fail_each_step({"a.npy", "a.b2nd", "", prepare_array,
                  [](InProcess& mount) { mount.write("a.npy", npy_file(500)); }, npy_file(500)});
}

BOOST_AUTO_TEST_CASE(of_an_array_that_stays_one) {
  const ByteVector array = npy_file(1000);
  fail_each_step({"a.npy", "a.b2nd", "", prepare_array,
                  [](InProcess& mount) { mount.open("a.npy").write(5000, ByteVector(300, 7)); },
                  with_bytes(array, 5000, ByteVector(300, 7))});
}

BOOST_AUTO_TEST_CASE(of_a_file_that_was_staged) {
  static const ByteVector large = make_contents("noise", 3, 3'000'001, 1);
  fail_each_step({"a", "a.b2frame", "cache_size=8M,dirty_limit=1M", prepare_nothing,
                  [](InProcess& mount) { mount.write("a", large); }, large});
}

BOOST_AUTO_TEST_CASE(of_a_staged_file_that_becomes_an_array) {
  static const ByteVector large = npy_file(40000);
  fail_each_step({"a.npy", "a.b2nd", "cache_size=8M,dirty_limit=1M", prepare_nothing,
                  [](InProcess& mount) { mount.write("a.npy", large); }, large});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
