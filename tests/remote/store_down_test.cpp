// If the store stops answering, the mount saves written data elsewhere, or reports that it is lost.

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <optional>
#include <thread>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/remote/failing_gateway.hpp"
#include "tests/remote/mounted.hpp"
#include "tests/remote/object_mount.hpp"
#include "tests/remote/rgw.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/pause.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::test;
namespace utf = boost::unit_test;

/// A filesystem of 1 MiB that is full.
struct FullDisk {
  FullDisk() {
    if (::mount("none", point.path().c_str(), "tmpfs", 0, "size=1m,mode=700") != 0)
      test::throw_errno("mount tmpfs");
    fs_std::create_directory(point / "cache");
    fs_std::permissions(point / "cache", fs_std::perms(0700));
    const Fd fd(::open((point / "filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const ByteVector bytes(4096);
    while (::write(fd.get(), bytes.data(), bytes.size()) > 0) {
    }
  }
  ~FullDisk() { ::umount2(point.path().c_str(), MNT_DETACH); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

  TempDir point;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(store_down, *utf::precondition(needs_ceph) * utf::precondition(needs_fuse))

BOOST_AUTO_TEST_CASE(all_that_was_not_sent_is_kept_in_the_disk_cache) {
  const StorePlace place;
  const TempDir work;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {"retry_time=1", "disk_cache=" + (work / "kept").string()},
                    gateway.endpoint());
  const std::map<std::string, std::string> files{
      {"small", "some text"}, {"large", noise(1, 6'000'000)}, {"empty", ""}};
  for (const auto& [name, contents] : files)
    BOOST_TEST(errno_of_writing(mount / name, 0, contents, 0, false) == 0, name);
  gateway.is_down = true;
  mount.unmount();
  std::map<std::string, std::string> kept;
  for (const std::string& name : names_in(work / "kept"))
    if (const auto end = name.find(".unsent-"); end != std::string::npos)
      kept[name.substr(0, end)] =
          run({b2frame_program(), "cat", (work / "kept" / name).string()}).out;
  for (const auto& [name, contents] : kept)
    BOOST_TEST((files.contains(name) && files.at(name) == contents), name);
  // The store has the files that were stored before it stopped answering.
  const ObjectMount other(place);
  for (const auto& [name, contents] : files)
    if (!kept.contains(name)) BOOST_TEST((file_text(other / name) == contents), name);
  BOOST_TEST(!kept.empty());
}

// Without a read of contents, only lookups and listings fail.
BOOST_AUTO_TEST_CASE(what_a_silent_store_prevents_is_counted) {
  const StorePlace place;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {"retry_time=1", "revalidate=0"}, gateway.endpoint());
  BOOST_TEST(mount.counter("io_errors") == 0u);
  gateway.is_down = true;
  struct stat st {};
  BOOST_TEST(::stat((mount / "one").c_str(), &st) == -1);
  BOOST_TEST((errno == EIO || errno == ETIMEDOUT), "errno " << errno);
  BOOST_TEST(mount.counter("io_errors") == 1u);
}

BOOST_AUTO_TEST_CASE(
    writers_who_fill_the_dirty_limit_fail_and_all_is_stored_when_the_store_is_back) {
  const StorePlace place;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {"retry_time=1", "dirty_limit=4M"}, gateway.endpoint());
  const Fd fd(::open((mount / "one").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  const std::string piece = noise(3, std::size_t{1} << 20);
  std::string written;
  gateway.is_down = true;
  int error = 0;
  while (error == 0 && written.size() < (std::size_t{64} << 20)) {
    const ssize_t count = ::pwrite(fd.get(), piece.data(), piece.size(), std::ssize(written));
    if (count > 0)
      written.append(piece, 0, static_cast<std::size_t>(count));
    else
      error = errno;
  }
  BOOST_TEST((error == EIO || error == ETIMEDOUT), "errno " << error);
  gateway.is_down = false;
  // The first fsync() may report an earlier error. Another one may report a commit that was under
  // way when the store came back.
  BOOST_TEST(comes_true([&] { return ::fsync(fd.get()) == 0; }), "errno " << errno);
  BOOST_TEST(::pwrite(fd.get(), "on", 2, std::ssize(written)) == 2);
  BOOST_TEST(::fsync(fd.get()) == 0);
  const ObjectMount other(place);
  BOOST_TEST((file_text(other / "one") == written + "on"));
}

// The store has deleted the file, but answers that it is busy, so the deletion is sent again. A new
// file of that name must not be stored in between.
BOOST_AUTO_TEST_CASE(a_repeated_deletion_does_not_hit_a_new_file) {
  const StorePlace place;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {}, gateway.endpoint());
  BOOST_REQUIRE(errno_of_writing(mount / "f", 0, "old") == 0);
  const auto deletions = [&] {
    const auto seen = gateway.seen();
    return std::count_if(seen.begin(), seen.end(), [](const HttpRequest& request) {
      return request.head.substr(0, request.head.find("\r\n")).find("?delete") != std::string::npos;
    });
  };
  const auto before = deletions();
  gateway.busy_removals = 1;
  BOOST_REQUIRE(::unlink((mount / "f").c_str()) == 0);
  BOOST_REQUIRE(comes_true([&] { return deletions() == before + 1; }));
  BOOST_TEST(errno_of_writing(mount / "f", 0, "new") == 0);
  BOOST_REQUIRE(comes_true([&] { return deletions() >= before + 2; }));
  BOOST_TEST(mount.unmount().ok(), mount.log());
  BOOST_TEST(file_text(ObjectMount(place) / "f") == "new");
}

// Files whose last commit fails are tried again side by side. One after the other, each would wait
// for `retry_time`, and all requests for one file would come before those for the next.
BOOST_AUTO_TEST_CASE(files_are_tried_side_by_side_at_the_end) {
  constexpr int kFiles = 8;
  const StorePlace place;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {"retry_time=2", "commit=300"}, gateway.endpoint());
  for (int i = 0; i < kFiles; i++)
    BOOST_TEST(errno_of_writing(mount / fmt::format("f{}x", i), 0, "text", 0, false) == 0);
  gateway.is_down = true;
  const std::size_t before = gateway.seen().size();
  mount.unmount();
  const std::vector<HttpRequest> seen = gateway.seen();
  std::map<std::string, std::size_t> last;
  std::size_t puts = 0;
  for (std::size_t i = before; i < seen.size(); i++)
    for (int file = 0; file < kFiles; file++)
      if (const std::string name = fmt::format("/f{}x.b2frame/", file);
          seen[i].head.starts_with("PUT ") && seen[i].head.find(name) < seen[i].head.find("\r\n"))
        last[name] = ++puts;
  BOOST_REQUIRE(last.size() == std::size_t{kFiles});
  std::size_t first_to_end = puts;
  for (const auto& [name, at] : last) first_to_end = std::min(first_to_end, at);
  BOOST_TEST_MESSAGE(puts << " PUTs; the first file to end has its last one at " << first_to_end);
  BOOST_TEST(puts - first_to_end < 3U * kFiles);
}

BOOST_AUTO_TEST_CASE(without_a_disk_cache_it_is_told_how_much_is_lost) {
  const StorePlace place;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {"retry_time=1"}, gateway.endpoint());
  std::optional<Fd> fd(::open((mount / "one").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  gateway.is_down = true;
  BOOST_TEST(::pwrite(fd->get(), "some text", 9, 0) == 9);
  BOOST_TEST(::fsync(fd->get()) == -1);
  ::umount2(mount.path().c_str(), MNT_DETACH);
  fd.reset();
  BOOST_TEST(mount.wait(Seconds(60)));
  BOOST_TEST(mount.result().status != 0);
  BOOST_TEST(mount.log().find("contents lost, 9 bytes") != std::string::npos, mount.log());
}

BOOST_AUTO_TEST_CASE(a_disk_cache_without_room_keeps_nothing_and_says_so,
                     *utf::precondition(needs_root)) {
  const StorePlace place;
  const FullDisk disk;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {"retry_time=1", "disk_cache=" + (disk.point / "cache").string()},
                    gateway.endpoint());
  std::optional<Fd> fd(::open((mount / "one").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  gateway.is_down = true;
  const std::string contents = noise(2, 100'000);
  BOOST_TEST(::pwrite(fd->get(), contents.data(), contents.size(), 0) == 100'000);
  BOOST_TEST(::fsync(fd->get()) == -1);
  ::umount2(mount.path().c_str(), MNT_DETACH);
  fd.reset();
  BOOST_TEST(mount.wait(Seconds(60)));
  BOOST_TEST(mount.result().status != 0);
  BOOST_TEST(mount.log().find("contents lost, 100000 bytes") != std::string::npos, mount.log());
  for (const std::string& name : names_in(disk.point / "cache"))
    BOOST_TEST(name.find(".unsent-") == std::string::npos, name);
}

BOOST_AUTO_TEST_CASE(a_new_file_that_may_have_been_stored_is_removed_from_the_store) {
  const StorePlace place;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {"retry_time=1"}, gateway.endpoint());
  gateway.ends_with_index = true;
  BOOST_TEST(errno_of_writing(mount / "one", 0, "some text") != 0);
  BOOST_TEST(gateway.is_down);
  // The mount cannot know whether the store has the file.
  BOOST_TEST(::unlink((mount / "one").c_str()) == -1);
  gateway.is_down = false;
  BOOST_TEST(::unlink((mount / "one").c_str()) == 0, "errno " << errno);
  BOOST_TEST(names_in(mount.path()).empty());
  const ObjectMount other(place);
  BOOST_TEST(names_in(other.path()).empty());
}

// Another host has replaced the state, and the store does not accept a conflict file at first.
BOOST_AUTO_TEST_CASE(what_failed_is_not_written_over_what_has_come_since) {
  const StorePlace place;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {"retry_time=1", "revalidate=0"}, gateway.endpoint());
  const std::string failed(1000, 'A'), since(1000, 'D');
  BOOST_TEST(errno_of_writing(mount / "one", 0, noise(4, 100'000)) == 0);
  gateway.ends_with_index = true;
  BOOST_TEST(errno_of_writing(mount / "one", 5000, failed) != 0);
  {
    const ObjectMount other(place);
    BOOST_TEST(errno_of_writing(other / "one", 5500, since) == 0);
  }
  gateway.takes_nothing = true;
  gateway.is_down = false;
  // This commit makes the mount notice that its state is overtaken.
  BOOST_TEST(errno_of_writing(mount / "one", 0, "") != 0);
  const auto is_there = [&](const fs_std::path& root) {
    std::string found;
    try {
      found = file_text(root / "one");
    } catch (const std::system_error&) {
      return false;  // the mount has not saved its own version yet
    }
    return found.size() == 100'000 && found.compare(5500, since.size(), since) == 0;
  };
  BOOST_TEST(comes_true([&] { return is_there(mount.path()); }));
  gateway.takes_nothing = false;
  const std::string last(100, 'C');
  BOOST_TEST(comes_true([&] { return errno_of_writing(mount / "one", 6000, last) == 0; }));
  BOOST_TEST(comes_true([&] { return conflicts_in(mount.path()).size() == 1; }));
  BOOST_TEST(mount.unmount().ok(), mount.log());
  const ObjectMount reader(place);
  for (const std::string& name : conflicts_in(reader.path()))
    BOOST_TEST(file_text(reader / name).compare(5000, failed.size(), failed) == 0);
  const std::string found = file_text(reader / "one");
  BOOST_TEST(found.compare(5500, 500, std::string(500, 'D')) == 0);
  BOOST_TEST(found.compare(6000, 100, last) == 0);
  BOOST_TEST(found.compare(6100, 400, std::string(400, 'D')) == 0);
}

// The store keeps no trace of a removed frame, so the mount cannot know whether it was ever stored.
BOOST_DATA_TEST_CASE(what_may_have_been_stored_and_was_removed_is_not_lost,
                     utf::data::make({true, false}), had_been_there) {
  const StorePlace place;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {"retry_time=1", "revalidate=0"}, gateway.endpoint());
  if (had_been_there) {
    BOOST_TEST(errno_of_writing(mount / "one", 0, "old text") == 0);
    BOOST_TEST(::unlink((mount / "one").c_str()) == 0);
  }
  gateway.ends_with_index = true;
  BOOST_TEST(errno_of_writing(mount / "one", 0, "some text", O_CREAT) != 0);
  BOOST_TEST(gateway.is_down);
  {
    const ObjectMount other(place);
    // The store may still be working on the request whose answer was lost.
    BOOST_TEST_REQUIRE(comes_true([&] { return fs_std::exists(other / "one"); }));
    BOOST_TEST(file_text(other / "one") == "some text");
    BOOST_TEST(::unlink((other / "one").c_str()) == 0);
  }
  gateway.is_down = false;
  BOOST_TEST(mount.unmount().ok(), mount.log());
  const ObjectMount reader(place);
  const std::vector<std::string> kept = names_in(reader.path());
  BOOST_TEST(kept.size() == 1U, mount.log());
  for (const std::string& name : kept) BOOST_TEST(file_text(reader / name) == "some text");
}

BOOST_DATA_TEST_CASE(a_file_that_is_removed_while_it_is_stored_is_gone,
                     utf::data::make({true, false}), is_new) {
  const StorePlace place;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {"sync=strict"}, gateway.endpoint());
  for (int after = -450; after <= 550; after += 50) {
    if (!is_new) BOOST_TEST(errno_of_writing(mount / "one", 0, "old text") == 0, mount.log());
    const int file = ::open((mount / "one").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    BOOST_TEST(::pwrite(file, "some text", 9, 0) == 9);
    gateway.delay_ms = 150;
    const auto wait_if = [](int milliseconds) {
      simulate_delay(std::chrono::milliseconds(std::max(0, milliseconds)));
    };
    auto closed = std::async(std::launch::async, [&] {
      wait_if(-after);
      return ::close(file);
    });
    wait_if(after);
    BOOST_TEST(::unlink((mount / "one").c_str()) == 0, "errno " << errno);
    closed.wait();
    gateway.delay_ms = 0;
    for (const std::string& name : names_in(mount.path()))
      BOOST_TEST(name == "", "after " << after << " ms: " << name);
    const ObjectMount other(place);
    for (const std::string& name : names_in(other.path()))
      BOOST_TEST(name == "", "after " << after << " ms, for others: " << name);
  }
}

BOOST_AUTO_TEST_SUITE_END()
