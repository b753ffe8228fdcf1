// A file is renamed at each moment of its commit. The commit stores its bytes under the new name.

#include <atomic>
#include <chrono>
#include <future>
#include <string>

#include <boost/test/unit_test.hpp>
#include <fmt/core.h>

#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/mount/watched_calls.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {

BOOST_AUTO_TEST_SUITE(renamed_meanwhile)

namespace {

constexpr std::chrono::milliseconds kLongestWait{200};

/// Renames a file in the mount at one call. `number` counts the calls that change SOURCE, from 0.
class RenameAtCall {
 public:
  RenameAtCall(InProcess& mount, const std::string& from, const std::string& to, int number)
      : watched_([=, this, &mount](Call call, const std::string&) {
          if (call == Call::look || call == Call::read || count_++ != number) return 0;
          renamed_ = std::async(std::launch::async,
                                [=, &mount] { return error_of([&] { mount.rename(from, to); }); });
          // A commit that holds the lock on names goes on first.
          renamed_.wait_for(kLongestWait);
          has_begun_ = true;
          return 0;
        }) {}
  bool has_begun() const { return has_begun_; }
  int error() { return renamed_.get(); }

 private:
  std::atomic<int> count_{0};
  std::atomic<bool> has_begun_{false};
  std::future<int> renamed_;
  const WatchedCalls watched_;
};

/// A kind of commit, of a file that the mount shows as `shown`.
struct Kind {
  std::string shown, options;
  void (*prepare)(const fs_std::path& source);
  /// Makes a change, and leaves no file open.
  void (*change)(InProcess& mount);
  ByteVector expected;
};

/// Renames the file at each step of a commit of that kind.
void rename_at_each_step(const Kind& kind) {
  for (const std::string directory : {"", "d/"}) {
    const std::string renamed = directory + "new-" + kind.shown;
    bool has_begun = true;
    for (int number = 0; has_begun; number++) {
      BOOST_TEST_CONTEXT("rename to " << renamed << " at call " << number) {
        const TempDir source;
        fs_std::create_directory(source / "d");
        kind.prepare(source.path());
        InProcess mount(source.path(), kind.options);
        kind.change(mount);
        {
          RenameAtCall rename(mount, kind.shown, renamed, number);
          BOOST_TEST(error_of([&] { mount->commit_written(); }) == 0);
          has_begun = rename.has_begun();
          if (has_begun) BOOST_TEST(rename.error() == 0);
        }
        const std::string& last = has_begun ? renamed : kind.shown;
        BOOST_TEST((mount.read(last) == kind.expected));
        mount.end();
        InProcess later(source.path());
        BOOST_TEST((later.read(last) == kind.expected));
        BOOST_TEST(mount.log() == "");
      }
    }
  }
}

void prepare_nothing(const fs_std::path&) {}
void prepare_frame(const fs_std::path& source) {
  write_file(source / "a.b2frame", flat_frame("old"));
}
void prepare_array(const fs_std::path& source) {
  write_file(source / "a.npy.b2frame", flat_frame("old"));
}
void add_metalayer(InProcess& mount) {
  mount.set_attribute("a", "user.blosc2.meta.m", std::string(2000, 'm'));
}

const ByteVector kLarge = make_contents("noise", 3, 1'500'001, 1);

ByteVector npy_file() {
  const std::string header = npy_header("<f8", {100, 10});
  return with_bytes(bytes_of(header), header.size(), make_contents("floats", 4, 8000, 8));
}

}  // namespace

BOOST_AUTO_TEST_CASE(new_file) {
  rename_at_each_step({"a", "", prepare_nothing,
                       [](InProcess& mount) { mount.write("a", bytes_of("new")); },
                       bytes_of("new")});
}

BOOST_AUTO_TEST_CASE(staged_file_that_is_written_anew) {
  rename_at_each_step({"a", "cache_size=8M,dirty_limit=1M", prepare_nothing,
                       [](InProcess& mount) {
                         mount.write("a", kLarge);
                         add_metalayer(mount);
                       },
                       kLarge});
}

BOOST_AUTO_TEST_CASE(frame_that_is_written_anew) {
  rename_at_each_step({"a", "", prepare_frame,
                       [](InProcess& mount) {
                         mount.open("a").write(0, bytes_of("new"));
                         add_metalayer(mount);
                       },
                       bytes_of("new")});
}

BOOST_AUTO_TEST_CASE(file_that_becomes_an_array) {
  rename_at_each_step({"a.npy", "", prepare_array,
                       [](InProcess& mount) { mount.write("a.npy", npy_file()); }, npy_file()});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
