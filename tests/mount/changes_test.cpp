// Sources that change while they are read. A read gives the old bytes, the new bytes or an error,
// but never a mixture.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/peer/request.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/pause.hpp"
#include "tests/support/peer.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kChangedSize = 1 << 20;

/// Returns the contents of state `number`. No two states have a page in common.
ByteVector state(std::uint64_t number) {
  return make_contents("noise", number + 1, kChangedSize + number * 4096, 1);
}

void replace(const fs_std::path& path, const ByteVector& bytes) {
  const fs_std::path fresh = path.parent_path() / ".fresh";
  write_file(fresh, bytes);
  fs_std::rename(fresh, path);
}

/// Reads the whole file through one descriptor. Returns nothing if a read fails with EIO or ESTALE.
std::optional<ByteVector> read_or_eio(const fs_std::path& path) {
  const int error = EIO;
  try {
    return read_file(path);
  } catch (const std::system_error& failure) {
    if (failure.code().value() != error && failure.code().value() != ESTALE) throw;
    return std::nullopt;
  }
}

/// Reads the file repeatedly on a thread, and remembers the first result that `allowed` rejects.
template <typename Allowed>
class Reader {
 public:
  Reader(fs_std::path path, Allowed allowed)
      : path_(std::move(path)), allowed_(std::move(allowed)), thread_([this] { work(); }) {}
  ~Reader() { stop(); }
  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int good() const { return good_; }
  /// Valid after stop(). Empty if every result was allowed.
  const std::string& wrong() const { return wrong_; }

 private:
  void work() {
    while (!stop_ && wrong_.empty()) {
      try {
        const auto bytes = read_or_eio(path_);
        if (bytes && !allowed_(*bytes)) wrong_ = std::to_string(bytes->size()) + " bytes, mixed";
        if (bytes) ++good_;
      } catch (const std::system_error& error) {
        // A torn frame is shown as an ordinary file or directory, so its name may be missing for a
        // time.
        if (error.code() != std::errc::no_such_file_or_directory) wrong_ = error.what();
      }
    }
  }

  fs_std::path path_;
  Allowed allowed_;
  std::atomic<bool> stop_{false};
  std::atomic<int> good_{0};
  std::string wrong_;
  std::jthread thread_;
};

bool is_prefix(const ByteVector& part, const ByteVector& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(changes)

BOOST_AUTO_TEST_CASE(open_handle_keeps_what_rename_replaced, *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(state(0)));
  Mount mount(source.path());
  const Fd old(open((mount / "a").c_str(), O_RDONLY | O_CLOEXEC));
  struct stat before {};
  fstat(old.get(), &before);
  replace(source / "a.b2frame", flat_frame(state(1)));
  ByteVector bytes(kChangedSize);
  const ssize_t got = pread(old.get(), bytes.data(), kChangedSize, 0);
  if (got >= 0)
    BOOST_CHECK(got == static_cast<ssize_t>(kChangedSize) && bytes == state(0));
  else
    BOOST_TEST(errno == EIO);
  BOOST_CHECK(comes_true([&] { return read_or_eio(mount / "a") == state(1); }));
  BOOST_TEST(fs_std::file_size(mount / "a") == state(1).size());
}

BOOST_AUTO_TEST_CASE(inode_number_stays_when_a_source_changes_in_place, *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(state(0)));
  Mount mount(source.path());
  BOOST_CHECK(read_file(mount / "a") == state(0));
  struct stat before {
  }, after{};
  stat((mount / "a").c_str(), &before);
  write_file(source / "a.b2frame", flat_frame(state(2)));
  BOOST_CHECK(comes_true([&] { return read_or_eio(mount / "a") == state(2); }));
  stat((mount / "a").c_str(), &after);
  BOOST_TEST(before.st_ino == after.st_ino);
  BOOST_TEST(after.st_size == static_cast<off_t>(state(2).size()));
}

BOOST_AUTO_TEST_CASE(single_source_is_followed_through_renames, *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(state(0)));
  Mount mount(source / "a.b2frame");
  BOOST_CHECK(read_file(mount / "a") == state(0));
  replace(source / "a.b2frame", flat_frame(state(1)));
  BOOST_CHECK(comes_true([&] { return read_or_eio(mount / "a") == state(1); }));
}

BOOST_AUTO_TEST_CASE(readers_never_see_a_mixture_of_renamed_states, *precondition(needs_fuse)) {
  constexpr std::uint64_t kStates = 3;
  std::vector<ByteVector> states;
  for (std::uint64_t i = 0; i < kStates; ++i) states.push_back(state(i));
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(states[0]));
  Mount mount(source.path());
  const auto allowed = [&states](const ByteVector& bytes) {
    return std::find(states.begin(), states.end(), bytes) != states.end();
  };
  Reader first(mount / "a", allowed), second(mount / "a", allowed);
  std::minstd_rand random{1};
  for (std::size_t round = 1; round <= 60; ++round) {
    replace(source / "a.b2frame", flat_frame(states[round % kStates]));
    pause_at_random(random, std::chrono::milliseconds(30));
  }
  BOOST_CHECK(comes_true([&] { return first.good() > 0 && second.good() > 0; }));
  first.stop();
  second.stop();
  BOOST_TEST(first.wrong() == "");
  BOOST_TEST(second.wrong() == "");
}

BOOST_AUTO_TEST_CASE(opening_a_file_that_is_replaced_all_the_time_never_fails,
                     *precondition(needs_fuse)) {
  const TempDir source;
  const fs_std::path frame = source / "f.b2frame";
  const std::vector<ByteVector> frames = {flat_frame(std::string(4096, 'a')),
                                          flat_frame(std::string(8192, 'b'))};
  write_file(frame, frames[0]);
  Mount mount(source.path());
  std::jthread writer([&](const std::stop_token& end) {
    for (std::size_t turn = 1; !end.stop_requested(); turn++) replace(frame, frames[turn % 2]);
  });
  std::string failures;
  for (int turn = 0; turn < 500; turn++) {
    const Fd file(open((mount / "f").c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) failures += std::string(" open: ") + std::strerror(errno);
    char size[32];
    if (getxattr((mount / "f").c_str(), "user.blosc2.nbytes", size, sizeof size) < 0)
      failures += std::string(" getxattr: ") + std::strerror(errno);
  }
  writer.request_stop();
  writer.join();
  BOOST_TEST(failures.empty(), failures);
}

BOOST_AUTO_TEST_CASE(times_that_are_set_back_hide_no_change, *precondition(needs_fuse)) {
  const TempDir source;
  const fs_std::path frame = source / "f.b2frame";
  write_file(frame, flat_frame(std::string(5000, 'a')));
  write_file(source / "plain", std::string(5000, 'a'));
  Mount mount(source.path());
  BOOST_TEST((read_file(mount / "f") == bytes_of(std::string(5000, 'a'))));
  BOOST_TEST((read_file(mount / "plain") == bytes_of(std::string(5000, 'a'))));
  const auto change = [](const fs_std::path& path, const ByteVector& bytes) {
    const auto time = fs_std::last_write_time(path);
    const Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    BOOST_TEST(pwrite(file.get(), bytes.data(), bytes.size(), 0) ==
               static_cast<ssize_t>(bytes.size()));
    fs_std::last_write_time(path, time);
  };
  change(frame, flat_frame(std::string(5000, 'b')));
  change(source / "plain", bytes_of(std::string(5000, 'b')));
  BOOST_TEST((read_file(mount / "f") == bytes_of(std::string(5000, 'b'))));
  BOOST_TEST((read_file(mount / "plain") == bytes_of(std::string(5000, 'b'))));
}

BOOST_AUTO_TEST_CASE(a_frame_becomes_a_store_and_back, *precondition(needs_fuse)) {
  const ByteVector store =
      read_file(fs_std::path(BLOSCFS_SOURCE_ROOT) / "tests/data/stores/embed0.b2e");
  const TempDir source;
  const fs_std::path file = source / "a.b2frame";
  write_file(file, flat_frame(state(0)));
  Mount mount(source.path());
  for (std::uint64_t i = 0; i < 3; i++) {
    BOOST_TEST((read_file(mount / "a") == state(i)));
    replace(file, store);
    BOOST_TEST(comes_true([&] { return fs_std::is_directory(mount / "a"); }));
    BOOST_TEST(fs_std::exists(mount / "a/deep2/leaf4.npy"));
    replace(file, flat_frame(state(i)));
    BOOST_TEST(comes_true([&] { return fs_std::is_regular_file(mount / "a"); }));
    // In place, so that the inode stays the same.
    write_file(file, store);
    BOOST_TEST(comes_true([&] { return fs_std::is_directory(mount / "a"); }));
    BOOST_TEST(!read_file(mount / "a/deep2/leaf4.npy").empty());
    write_file(file, flat_frame(state(i + 1)));
    BOOST_TEST(comes_true([&] { return fs_std::is_regular_file(mount / "a"); }));
  }
}

BOOST_AUTO_TEST_CASE(truncated_source_gives_old_bytes_or_eio, *precondition(needs_fuse)) {
  const TempDir source;
  const auto contents = state(0);
  write_file(source / "a.b2frame", flat_frame(contents));
  Mount mount(source.path());
  const Fd old(open((mount / "a").c_str(), O_RDONLY | O_CLOEXEC));
  ByteVector start(5000);
  BOOST_TEST(pread(old.get(), start.data(), start.size(), 0) == 5000);
  BOOST_REQUIRE(truncate((source / "a.b2frame").c_str(), 200000) == 0);
  ByteVector bytes(4096);
  for (std::size_t at = 0; at + bytes.size() <= kChangedSize; at += 65536) {
    const ssize_t got = pread(old.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (got < 0)
      BOOST_TEST(errno == EIO);
    else
      BOOST_CHECK(got == 4096 && std::equal(bytes.begin(), bytes.end(),
                                            contents.begin() + static_cast<std::ptrdiff_t>(at)));
  }
  // The file is no longer a frame. The mount soon shows it as it is.
  BOOST_CHECK(comes_true([&] {
    std::error_code none;
    return fs_std::file_size(mount / "a.b2frame", none) == 200000 && !none;
  }));
  BOOST_TEST(mount.running());
}

BOOST_AUTO_TEST_CASE(removed_source_disappears, *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(state(0)));
  Mount mount(source.path());
  const Fd old(open((mount / "a").c_str(), O_RDONLY | O_CLOEXEC));
  fs_std::remove(source / "a.b2frame");
  BOOST_CHECK(comes_true([&] { return !fs_std::exists(mount / "a"); }));
  ByteVector bytes(4096);
  const ssize_t got = pread(old.get(), bytes.data(), bytes.size(), 8192);
  const auto contents = state(0);
  if (got < 0)
    BOOST_TEST(errno == EIO);
  else
    BOOST_CHECK(got == 4096 && std::equal(bytes.begin(), bytes.end(), contents.begin() + 8192));
}

// With the writeback cache, the kernel remembers for a moment that a name is missing.
BOOST_AUTO_TEST_CASE(missing_name_shows_soon_after_it_has_appeared, *precondition(needs_fuse)) {
  for (const char* option : {"rw", "writeback"}) {
    const TempDir source;
    MountSettings settings;
    settings.options = {option};
    const Mount mount(source.path(), settings);
    BOOST_TEST(!fs_std::exists(mount / "a"));
    write_file(source / "a", state(1));
    BOOST_CHECK_MESSAGE(comes_true([&] { return fs_std::exists(mount / "a"); }), option);
  }
}

BOOST_AUTO_TEST_CASE(appending_peer_shows_whole_states, *precondition(needs_fuse_and_peer)) {
  constexpr int kAppends = 25;
  constexpr std::size_t kChunk = 40000;
  const TempDir source;
  PeerRequest request;
  request.chunksize = kChunk;
  request.nbytes = kChunk;
  request.kind = "noise";
  request.codec = 1;
  for (const bool contiguous : {true, false}) {
    request.contiguous = contiguous;
    request.path = source / (contiguous ? "c.b2frame" : "s.b2frame");
    request.action = "write";
    request.seed = 0;
    BOOST_REQUIRE(run_peer(request).ok());
    ByteVector all;
    for (int i = 0; i <= kAppends; ++i) {
      const auto part = make_contents("noise", static_cast<std::uint64_t>(i), kChunk, 1);
      all.insert(all.end(), part.begin(), part.end());
    }
    Mount mount(source.path());
    const auto path = mount / (contiguous ? "c" : "s");
    BOOST_REQUIRE(read_or_eio(path) == make_contents("noise", 0, kChunk, 1));
    const auto allowed = [&all](const ByteVector& bytes) {
      return bytes.size() % kChunk == 0 && is_prefix(bytes, all);
    };
    Reader reader(path, allowed);
    request.action = "append";
    for (int i = 1; i <= kAppends; ++i) {
      request.seed = static_cast<std::uint64_t>(i);
      const auto result = run_peer(request);
      BOOST_REQUIRE_MESSAGE(result.ok(), result.description());
    }
    BOOST_CHECK(comes_true([&] {
      try {
        return read_or_eio(path) == all;
      } catch (const std::system_error&) {
        return false;
      }
    }));
    BOOST_TEST(reader.good() > 0);
    reader.stop();
    BOOST_TEST(mount.running());
    BOOST_TEST(reader.wrong() == "");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
