// If another host has changed a file, the mount saves its own version as a complete conflict file,
// also if the store fails during that.

#include <algorithm>
#include <cerrno>
#include <future>
#include <set>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "tests/remote/failing_gateway.hpp"
#include "tests/remote/mounted.hpp"
#include "tests/remote/object_mount.hpp"
#include "tests/remote/rgw.hpp"
#include "tests/remote/store_chunks.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::test;
namespace utf = boost::unit_test;

Fd open_to_write(const fs_std::path& path) { return Fd(::open(path.c_str(), O_RDWR | O_CLOEXEC)); }

/// Calls fsync(). Returns the errno, or 0.
int errno_of_syncing(const Fd& file) { return ::fsync(file.get()) == 0 ? 0 : errno; }

bool is_passing(int error) { return error == EIO || error == ETIMEDOUT; }

/// A host has a file open and has written "NEW" to it. Then another host commits to the file.
struct Overtaken {
  explicit Overtaken(const std::string& contents) : of_mount(contents) {
    {
      const ObjectMount first(place);
      BOOST_TEST(errno_of_writing(first / "one", 0, contents) == 0);
    }
    mount.emplace(place, std::vector<std::string>{"retry_time=1"}, gateway.endpoint());
    file = open_to_write(*mount / "one");
    BOOST_TEST(::pwrite(file.get(), "NEW", 3, 100'000) == 3);
    of_mount.replace(100'000, 3, "NEW");
    const ObjectMount other(place);
    BOOST_TEST(errno_of_writing(other / "one", 0, "of another host", O_TRUNC) == 0);
  }

  /// Checks from a third host that there is one conflict file. Returns its contents.
  std::string only_one_beside() {
    const ObjectMount third(place);
    const auto conflicts = conflicts_in(third.path());
    BOOST_TEST_REQUIRE(conflicts.size() == 1U);
    BOOST_TEST(file_text(third / "one") == "of another host");
    return file_text(third / conflicts.front());
  }

  const StorePlace place;
  FailingGateway gateway{shared_rgw().port()};
  std::string of_mount;
  std::optional<ObjectMount> mount;
  Fd file{-1};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(kept_beside, *utf::precondition(needs_ceph) * utf::precondition(needs_fuse))

BOOST_AUTO_TEST_CASE(a_state_that_cannot_be_read_for_a_while_is_waited_for) {
  Overtaken one(noise(1, 9'000'000));
  one.gateway.hides_chunks = true;
  BOOST_TEST(is_passing(errno_of_syncing(one.file)));
  BOOST_TEST(conflicts_in(one.mount->path()).empty());
  one.gateway.hides_chunks = false;
  BOOST_TEST(errno_of_syncing(one.file) == ESTALE);
  BOOST_TEST((one.only_one_beside() == one.of_mount));
  BOOST_TEST(one.mount->log().find("with zeros") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_has_gone_for_good_is_told_to_be_zeros) {
  Overtaken one(noise(2, 9'000'000));
  const Chunks chunks = chunks_of(one.place);
  for (const std::string& chunk : chunks.present)
    if (!chunks.named.contains(chunk)) one.place.tree().remove(chunk, {});
  const int before = one.gateway.requests();
  BOOST_TEST(errno_of_syncing(one.file) == ESTALE);
  // A chunk that has gone is asked for a few times, not once for each of its rows.
  BOOST_TEST(one.gateway.requests() - before < 60);
  std::string zeros(one.of_mount.size(), 0);
  zeros.replace(100'000, 3, "NEW");
  BOOST_TEST((one.only_one_beside() == zeros));
  BOOST_TEST(one.mount->log().find("with zeros") != std::string::npos, one.mount->log());
}

BOOST_AUTO_TEST_CASE(hosts_of_one_name_take_different_names_within_a_second) {
  constexpr std::size_t kHosts = 4;
  const StorePlace place;
  std::vector<std::unique_ptr<ObjectMount>> hosts;
  std::vector<Fd> files;
  for (std::size_t i = 0; i < kHosts; i++)
    hosts.push_back(
        std::make_unique<ObjectMount>(place, std::vector<std::string>{"revalidate=60"}));
  BOOST_TEST(errno_of_writing(*hosts.front() / "one", 0, "before") == 0);
  std::set<std::string> written;
  for (std::size_t i = 0; i < kHosts; i++) {
    const std::string text = fmt::format("of host {}", i);
    hosts[i] = std::make_unique<ObjectMount>(place, std::vector<std::string>{"revalidate=60"});
    // The host trusts this listing until the end of the test.
    BOOST_TEST(names_in(hosts[i]->path()).size() == 1U);
    files.push_back(open_to_write(*hosts[i] / "one"));
    BOOST_TEST(::pwrite(files.back().get(), text.data(), text.size(), 0) == std::ssize(text));
    written.insert(text);
  }
  std::vector<std::future<int>> synced;
  for (const Fd& file : files)
    synced.push_back(std::async(std::launch::async, [&file] { return errno_of_syncing(file); }));
  int won = 0;
  for (auto& each : synced) {
    const int error = each.get();
    BOOST_TEST((error == 0 || error == ESTALE), "errno " << error);
    won += error == 0 ? 1 : 0;
  }
  BOOST_TEST(won == 1);
  // The conflict files exist as soon as fsync() returns, so a host that dies now loses nothing.
  const ObjectMount last(place);
  std::set<std::string> found{file_text(last / "one")};
  for (const std::string& name : conflicts_in(last.path())) found.insert(file_text(last / name));
  BOOST_TEST(found == written, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(files_of_one_name_in_two_directories_are_kept_in_the_disk_cache) {
  const StorePlace place;
  const TempDir cache;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {"retry_time=1", "disk_cache=" + (cache / "kept").string()},
                    gateway.endpoint());
  std::set<std::string> written, kept;
  for (const std::string directory : {"a", "b", "c"}) {
    BOOST_TEST(::mkdir((mount / directory).c_str(), 0755) == 0);
    BOOST_TEST(errno_of_writing(mount / directory / "one", 0, "of " + directory, 0, false) == 0);
    written.insert("of " + directory);
  }
  gateway.is_down = true;
  BOOST_TEST(mount.unmount().status != 0);
  for (const std::string& name : names_in(cache / "kept"))
    if (name.starts_with("one.unsent-"))
      kept.insert(run({b2frame_program(), "cat", (cache / "kept" / name).string()}).out);
  BOOST_TEST(kept == written, boost::test_tools::per_element());
  BOOST_TEST(mount.log().find("contents lost") == std::string::npos, mount.log());
}

BOOST_AUTO_TEST_CASE(zeros_for_old_bytes_that_cannot_be_read_are_reported) {
  const StorePlace place;
  const TempDir cache;
  const std::string contents = noise(3, 9'000'000);
  {
    const ObjectMount first(place);
    BOOST_TEST(errno_of_writing(first / "one", 0, contents) == 0);
  }
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {"retry_time=1", "disk_cache=" + (cache / "kept").string()},
                    gateway.endpoint());
  Fd file = open_to_write(mount / "one");
  BOOST_TEST(::pwrite(file.get(), "NEW", 3, 100'000) == 3);
  gateway.is_down = true;
  file = Fd(-1);
  mount.unmount();
  BOOST_TEST(mount.log().find("one.unsent-") != std::string::npos, mount.log());
  BOOST_TEST(mount.log().find("with zeros for all that was not written") != std::string::npos,
             mount.log());
}

BOOST_AUTO_TEST_SUITE_END()
