// Makes and changes files through mounts of an object store.

#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/open/open.hpp"
#include "tests/peer/frame_request.hpp"
#include "tests/remote/mounted.hpp"
#include "tests/remote/object_mount.hpp"
#include "tests/remote/rgw.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/peer.hpp"
#include "tests/support/xattr.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::test;
namespace utf = boost::unit_test;

struct stat status_of(const fs_std::path& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) test::throw_errno(path.string());
  return st;
}

int errno_of_status(const fs_std::path& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0 ? 0 : errno;
}

std::string text(const ByteVector& bytes) { return {bytes.begin(), bytes.end()}; }

/// Applies a write to the expected contents of a file.
void overwrite(std::string& contents, std::size_t at, std::string_view with) {
  contents.resize(std::max(contents.size(), at + with.size()));
  contents.replace(at, with.size(), with);
}

/// Returns the paths of a frame's chunks in a place.
std::vector<std::string> chunks_of(const StorePlace& place, const std::string& frame) {
  std::vector<std::string> found;
  for (const auto& [path, state] : place.objects())
    if (path.starts_with(frame + "/") && path.ends_with(".chunk")) found.push_back(path);
  return found;
}

void must_run(const Arguments& arguments) {
  const ProcessResult result = run(arguments);
  BOOST_TEST(result.ok(), arguments.front() << ": " << result.description());
}

/// Returns the contents of a frame as C-Blosc2 reads them.
std::string read_by_peer(const fs_std::path& frame, std::int64_t size) {
  const TempDir work;
  FrameRequest request;
  request.path = frame;
  request.nbytes = size;
  request.actions.push_back({"read", work / "contents", {}, 0, 0});
  const ProcessResult result = run_frame_editor(request);
  BOOST_TEST(result.ok(), result.description());
  return result.ok() ? file_text(work / "contents") : std::string();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(object_writing,
                      *utf::precondition(needs_ceph) * utf::precondition(needs_fuse))

BOOST_AUTO_TEST_CASE(what_was_written_is_opened_without_a_look_for_its_name) {
  const StorePlace place;
  ObjectMount mount(place);
  BOOST_TEST(errno_of_writing(mount / "one", 0, "before") == 0);
  const Fd same(::open((mount / "one").c_str(), O_PATH | O_CLOEXEC));
  {
    const Fd file(::open((mount / "one").c_str(), O_WRONLY | O_CLOEXEC));
    BOOST_TEST(::pwrite(file.get(), "behind", 6, 0) == 6);
    BOOST_TEST(::fsync(file.get()) == 0);
    // The kernel now trusts the name for a second. The next open() comes without a lookup, and
    // finds the state that the commit has left.
    status_of(mount / "one");
  }
  BOOST_TEST(comes_true(
      [&] { return file_text(fmt::format("/proc/self/fd/{}", same.get())) == "behind"; }));
}

BOOST_AUTO_TEST_CASE(a_new_file_is_there_for_others_once_it_is_synced) {
  const StorePlace place;
  const std::string contents = text(make_contents("text", 1, 5'000'000, 1));
  ObjectMount mount(place);
  BOOST_TEST(errno_of_writing(mount / "one", 0, contents) == 0);
  ObjectMount other(place);
  BOOST_TEST((file_text(other / "one") == contents));
  const TempDir copy;
  place.download(copy.path());
  const TempDir out;
  must_run({b2frame_program(), "extract", copy / "one.b2frame", "-o", out / "one"});
  BOOST_TEST((file_text(out / "one") == contents));
  BOOST_TEST(mount.unmount().ok(), mount.log());
  BOOST_TEST(mount.complaints() == "");
}

BOOST_AUTO_TEST_CASE(unmounting_by_command_waits_for_the_store) {
  const StorePlace place;
  const std::string contents = text(make_contents("text", 7, 3'000'000, 1));
  ObjectMount mount(place);
  BOOST_TEST(errno_of_writing(mount / "one", 0, contents, 0, false) == 0);
  const ProcessResult result = run({bloscfs_program(), "--unmount", mount.path()});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(!fs_std::exists(mount / "one"));
  ObjectMount other(place);
  BOOST_TEST((file_text(other / "one") == contents));
}

BOOST_AUTO_TEST_CASE(the_peer_reads_a_copy_of_the_prefix, *utf::precondition(needs_peer)) {
  const StorePlace place;
  std::string contents = text(make_contents("text", 2, 9'000'000, 1));
  ObjectMount mount(place);
  BOOST_TEST(errno_of_writing(mount / "one", 0, contents) == 0);
  BOOST_TEST(errno_of_writing(mount / "one", 4'500'000, "in the middle") == 0);
  overwrite(contents, 4'500'000, "in the middle");
  const TempDir copy;
  place.download(copy.path());
  BOOST_TEST((read_by_peer(copy / "one.b2frame", 9'000'000) == contents));
}

BOOST_AUTO_TEST_CASE(a_closed_file_is_committed_soon) {
  const StorePlace place;
  ObjectMount mount(place);
  BOOST_TEST(errno_of_writing(mount / "one", 0, "some text", 0, false) == 0);
  BOOST_TEST((names_in(mount.path()) == std::vector<std::string>{"one"}));
  BOOST_TEST(file_text(mount / "one") == "some text");
  BOOST_TEST(status_of(mount / "one").st_size == 9);
  BOOST_TEST(comes_true([&] { return place.objects().count("one.b2frame/chunks.b2frame") > 0; }));
  BOOST_TEST((names_in(mount.path()) == std::vector<std::string>{"one"}));
}

BOOST_AUTO_TEST_CASE(a_file_is_changed_in_all_ways) {
  const StorePlace place;
  std::string contents = text(make_contents("text", 3, 9'000'000, 1));
  ObjectMount mount(place);
  const fs_std::path path = mount / "one";
  BOOST_TEST(errno_of_writing(path, 0, contents) == 0);
  const auto check = [&](const char* what) {
    BOOST_TEST((file_text(path) == contents), what);
    const ObjectMount other(place);
    BOOST_TEST((file_text(other / "one") == contents), what << ", elsewhere");
    BOOST_TEST(status_of(other / "one").st_size == static_cast<off_t>(contents.size()), what);
  };
  const std::string noise = text(make_contents("noise", 3, 100'000, 1));
  BOOST_TEST(errno_of_writing(path, 4'150'000, noise) == 0);
  overwrite(contents, 4'150'000, noise);
  check("overwritten in the middle");
  BOOST_TEST(errno_of_writing(path, static_cast<std::int64_t>(contents.size()), noise) == 0);
  contents += noise;
  check("appended");
  BOOST_TEST(::truncate(path.c_str(), 5'000'001) == 0);
  BOOST_TEST(errno_of_syncing(path) == 0);
  contents.resize(5'000'001);
  check("cut");
  BOOST_TEST(::truncate(path.c_str(), 30'000'000) == 0);
  BOOST_TEST(errno_of_writing(path, 40'000'000, "end") == 0);
  contents.resize(40'000'000);
  contents += "end";
  check("with holes");
  BOOST_TEST(chunks_of(place, "one.b2frame").size() > 0U);
  BOOST_TEST(errno_of_writing(path, 0, "new", O_TRUNC) == 0);
  contents = "new";
  check("begun anew");
  BOOST_TEST(errno_of_writing(path, 0, "", O_TRUNC) == 0);
  contents.clear();
  check("empty");
}

BOOST_AUTO_TEST_CASE(what_exceeds_the_limit_of_dirty_bytes_is_written_all_the_same) {
  const StorePlace place;
  const ByteVector noise = make_contents("noise", 4, 64 << 20, 1);
  ObjectMount mount(place, {"dirty_limit=16M"});
  BOOST_TEST(errno_of_writing(mount / "large", 0, text(noise)) == 0);
  const ObjectMount other(place);
  BOOST_TEST((read_file(other / "large") == noise));
  BOOST_TEST(mount.complaints() == "");
}

BOOST_AUTO_TEST_CASE(arrays_become_arrays_and_text_again_text) {
  const StorePlace place;
  const std::string array =
      npy_header("<i4", {1000, 1000}) + text(make_contents("ramp", 5, 4'000'000, 4));
  ObjectMount mount(place);
  BOOST_TEST(errno_of_writing(mount / "a.npy", 0, array) == 0);
  BOOST_TEST(place.objects().count("a.b2nd/chunks.b2frame") == 1U);
  {
    const ObjectMount other(place);
    BOOST_TEST(names_in(other.path()) == std::vector<std::string>{"a.npy"},
               boost::test_tools::per_element());
    BOOST_TEST((file_text(other / "a.npy") == array));
  }
  BOOST_TEST(errno_of_writing(mount / "a.npy", 0, "plain text", O_TRUNC) == 0);
  BOOST_TEST(file_text(mount / "a.npy") == "plain text");
  {
    const ObjectMount other(place);
    BOOST_TEST(names_in(other.path()) == std::vector<std::string>{"a.npy"},
               boost::test_tools::per_element());
    BOOST_TEST(file_text(other / "a.npy") == "plain text");
  }
  BOOST_TEST(errno_of_writing(mount / "a.npy", 0, array, O_TRUNC) == 0);
  const ObjectMount other(place);
  // A store cannot add one name and remove another in one step, so the old name goes a little
  // later.
  BOOST_TEST(
      comes_true([&] { return names_in(other.path()) == std::vector<std::string>{"a.npy"}; }));
  BOOST_TEST((file_text(other / "a.npy") == array));
}

BOOST_AUTO_TEST_CASE(times_sizes_and_modes_are_those_of_files) {
  const StorePlace place;
  ObjectMount mount(place);
  const fs_std::path path = mount / "one";
  BOOST_TEST(errno_of_writing(path, 0, "some text", 0, false) == 0);
  BOOST_TEST(::chmod(path.c_str(), 0640) == 0);
  const timespec times[2] = {{1'000'000'000, 5}, {1'234'567'890, 123'456'789}};
  BOOST_TEST(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
  const auto check = [](const fs_std::path& file, const char* when) {
    const struct stat st = status_of(file);
    BOOST_TEST(st.st_size == 9, when);
    BOOST_TEST((st.st_mode & 07777) == 0640U, when);
    BOOST_TEST(st.st_mtim.tv_sec == 1'234'567'890, when);
    BOOST_TEST(st.st_mtim.tv_nsec == 123'456'789, when);
    BOOST_TEST(st.st_uid == ::geteuid(), when);
  };
  check(path, "before the commit");
  BOOST_TEST(errno_of_syncing(path) == 0);
  check(path, "behind the commit");
  const auto metadata = place.state("one.b2frame/chunks.b2frame").metadata;
  BOOST_TEST(metadata.at("mode") == "0640");
  BOOST_TEST(metadata.at("uid") == std::to_string(::geteuid()));
  BOOST_TEST(metadata.at("gid") == std::to_string(::getegid()));
  BOOST_TEST(metadata.at("mtime") == "1234567890.123456789");
  BOOST_TEST(metadata.at("commit").size() == 32U);
  {
    const ObjectMount other(place);
    check(other / "one", "elsewhere");
    BOOST_TEST(::chmod((other / "one").c_str(), 0600) == 0);
    const timespec later[2] = {{0, UTIME_OMIT}, {1'300'000'000, 0}};
    BOOST_TEST(::utimensat(AT_FDCWD, (other / "one").c_str(), later, 0) == 0);
    BOOST_TEST(file_text(other / "one") == "some text");
  }
  BOOST_TEST(comes_true([&] { return status_of(path).st_mtim.tv_sec == 1'300'000'000; }));
  BOOST_TEST((status_of(path).st_mode & 07777) == 0600U);
}

BOOST_AUTO_TEST_CASE(chunks_have_numbers_of_files_that_are_to_stay) {
  const StorePlace place;
  ObjectMount mount(place);
  BOOST_TEST(errno_of_writing(mount / "one", 0, text(make_contents("noise", 6, 20'000'000, 1))) ==
             0);
  const auto chunks = chunks_of(place, "one.b2frame");
  BOOST_TEST(chunks.size() == 5U);
  for (const std::string& path : chunks) {
    const std::string name = path.substr(path.rfind('/') + 1);
    BOOST_TEST(name.size() == 14U);
    BOOST_TEST((name < std::string("F0000000")), name);
  }
}

BOOST_AUTO_TEST_CASE(directories_come_and_go) {
  const StorePlace place;
  ObjectMount mount(place);
  BOOST_TEST(::mkdir((mount / "in").c_str(), 0755) == 0);
  BOOST_TEST(::mkdir((mount / "in").c_str(), 0755) == -1);
  BOOST_TEST(errno == EEXIST);
  BOOST_TEST(place.objects().size() == 0U);
  BOOST_TEST(::mkdir((mount / "in/side").c_str(), 0755) == 0);
  BOOST_TEST(errno_of_writing(mount / "in/side/file", 0, "text") == 0);
  {
    const ObjectMount other(place);
    BOOST_TEST(file_text(other / "in/side/file") == "text");
    BOOST_TEST(::rmdir((other / "in/side").c_str()) == -1);
    BOOST_TEST(errno == ENOTEMPTY);
  }
  BOOST_TEST(::unlink((mount / "in/side/file").c_str()) == 0);
  BOOST_TEST(::rmdir((mount / "in/side").c_str()) == 0);
  BOOST_TEST(names_in(mount / "in").empty());
  BOOST_TEST(errno_of_status(mount / "in/side") == ENOENT);
  {
    const ObjectMount other(place);
    BOOST_TEST(names_in(other / "in").empty());
    BOOST_TEST(errno_of_status(other / "in/side") == ENOENT);
    BOOST_TEST(::rmdir((other / "in").c_str()) == 0);
    BOOST_TEST(names_in(other.path()).empty());
  }
  BOOST_TEST(comes_true([&] { return errno_of_status(mount / "in") == ENOENT; }));
  BOOST_TEST(::mkdir((mount / "in").c_str(), 0755) == 0);
  BOOST_TEST(::mkdir((mount / "in/side").c_str(), 0755) == 0);
  const ObjectMount other(place);
  BOOST_TEST((names_in(other / "in") == std::vector<std::string>{"side"}));
  BOOST_TEST(names_in(other / "in/side").empty());
}

BOOST_AUTO_TEST_CASE(what_is_removed_is_gone_for_all_and_can_be_made_again) {
  const StorePlace place;
  ObjectMount mount(place), other(place);
  for (const char* contents : {"first", "second"}) {
    BOOST_TEST(errno_of_writing(mount / "one", 0, contents) == 0);
    BOOST_TEST(comes_true([&] { return errno_of_status(other / "one") == 0; }));
    BOOST_TEST(file_text(other / "one") == contents);
    BOOST_TEST(::unlink((mount / "one").c_str()) == 0);
    BOOST_TEST(errno_of_status(mount / "one") == ENOENT);
    BOOST_TEST(names_in(mount.path()).empty());
    BOOST_TEST(comes_true([&] { return place.objects().empty(); }));
    BOOST_TEST(comes_true([&] { return errno_of_status(other / "one") == ENOENT; }));
    BOOST_TEST(comes_true([&] { return names_in(other.path()).empty(); }));
    const ObjectMount third(place);
    BOOST_TEST(names_in(third.path()).empty());
    BOOST_TEST(errno_of_status(third / "one") == ENOENT);
  }
  BOOST_TEST(errno_of_writing(other / "one", 0, "third") == 0);
  BOOST_TEST(comes_true([&] { return errno_of_status(mount / "one") == 0; }));
  BOOST_TEST(file_text(mount / "one") == "third");
  BOOST_TEST((names_in(mount.path()) == std::vector<std::string>{"one"}));
}

BOOST_AUTO_TEST_CASE(what_a_removal_has_left_is_no_name) {
  const StorePlace place;
  const ByteVector some(10, 1);
  place.tree().put("one.b2frame/chunks.b2frame", {}, {}, {{"commit", "17"}});
  place.tree().put("two.b2frame/0000000A.chunk", some, {}, {});
  ObjectMount mount(place);
  const auto requests = mount.counter("network_requests");
  BOOST_TEST(names_in(mount.path()).empty());
  BOOST_TEST(errno_of_status(mount / "one") == ENOENT);
  BOOST_TEST(errno_of_status(mount / "two") == ENOENT);
  BOOST_TEST(mount.counter("network_requests") - requests <= 1U);
}

BOOST_AUTO_TEST_CASE(nobody_writes_over_what_a_removal_has_left_until_it_is_old) {
  const StorePlace place;
  place.tree().put("one.b2frame/chunks.b2frame", {}, {}, {{"commit", "17"}});
  ObjectMount mount(place);
  BOOST_TEST(errno_of_writing(mount / "one", 0, "text") == EBUSY);
  BOOST_TEST(mount.log().find("its removal is under way") != std::string::npos, mount.log());
  BOOST_TEST(errno_of_syncing(mount / "one") == EBUSY);
  place.tree().remove("one.b2frame/chunks.b2frame", {});
  BOOST_TEST(comes_true([&] { return errno_of_syncing(mount / "one") == 0; }));
  BOOST_TEST(file_text(ObjectMount(place) / "one") == "text");
}

BOOST_AUTO_TEST_CASE(operations_need_few_requests) {
  constexpr std::size_t kFiles = 8;
  const StorePlace place;
  ObjectMount mount(place);
  // The limit is for an empty prefix, which takes two more requests than one with keys, in a store
  // that accepts only ETags without quotes.
  BOOST_TEST(mount.counter("network_requests") <= 10U);
  const std::string contents = text(make_contents("noise", 1, 50'000, 1));
  std::map<std::string, std::uint64_t> counts;
  const auto count = [&](const char* what, const auto& work) {
    const auto before = mount.counter("network_requests");
    work();
    counts[what] += mount.counter("network_requests") - before;
  };
  // Each file is counted alone. The mount need not ask for what it has just stored.
  // A chunk that an append supersedes stays in the store for readers on other hosts.
  for (std::size_t i = 0; i < kFiles; i++) {
    const fs_std::path first = mount / fmt::format("f{}", i),
                       second = mount / fmt::format("g{}", i);
    count("create and fsync", [&] { BOOST_TEST(errno_of_writing(first, 0, contents) == 0); });
    count("append and fsync",
          [&] { BOOST_TEST(errno_of_writing(first, 50'000, "more", O_APPEND) == 0); });
    // The mount removes old objects in the background; the wait counts those requests here.
    count("rename", [&] {
      BOOST_TEST(::rename(first.c_str(), second.c_str()) == 0);
      BOOST_TEST(comes_true([&] { return place.objects().size() == i + 3; }));
    });
    count("unlink", [&] {
      BOOST_TEST(::unlink(second.c_str()) == 0);
      BOOST_TEST(comes_true([&] { return place.objects().size() == i + 1; }));
    });
    count("an absent name", [&] { BOOST_TEST(errno_of_status(second) == ENOENT); });
  }
  const std::map<std::string, std::uint64_t> most{{"create and fsync", 3},
                                                  {"append and fsync", 3},
                                                  {"rename", 6},
                                                  {"unlink", 3},
                                                  {"an absent name", 1}};
  for (const auto& [what, requests] : counts)
    BOOST_TEST(requests <= most.at(what) * kFiles,
               what << ": " << requests << " requests for " << kFiles);
}

BOOST_AUTO_TEST_CASE(what_was_removed_costs_no_listing_anything) {
  const StorePlace place;
  {
    ObjectMount mount(place);
    for (int i = 0; i < 30; i++)
      BOOST_TEST(errno_of_writing(mount / fmt::format("f{}", i), 0, "text") == 0);
    for (int i = 0; i < 29; i++) BOOST_TEST(::unlink((mount / fmt::format("f{}", i)).c_str()) == 0);
  }
  BOOST_TEST(place.objects().size() == 2U);
  ObjectMount mount(place, {"ro"});
  const auto before = mount.counter("network_requests");
  BOOST_TEST(before <= 2U);
  BOOST_TEST(names_in(mount.path()) == std::vector<std::string>{"f29"},
             boost::test_tools::per_element());
  BOOST_TEST(mount.counter("network_requests") - before <= 1U);
}

BOOST_AUTO_TEST_CASE(a_second_walk_asks_for_the_listing_alone) {
  constexpr unsigned kFiles = 60;
  const StorePlace place;
  {
    ObjectMount mount(place);
    for (unsigned i = 0; i < kFiles; i++)
      BOOST_TEST(errno_of_writing(mount / fmt::format("f{}", i), 0, "text", 0, false) == 0);
  }
  DaemonTime time;
  Mount mount(place.source(), time.of(place.settings({"ro"})));
  const auto requests_of_walk = [&] {
    const auto before = mount.counter("network_requests");
    must_run({"ls", "-l", mount.path()});
    return mount.counter("network_requests") - before;
  };
  BOOST_TEST(requests_of_walk() <= kFiles + 1U);
  time.move(std::chrono::seconds(5));  // the mount no longer trusts what it knows
  write_file("/proc/sys/vm/drop_caches", std::string_view("2"));  // nor does the kernel
  BOOST_TEST(requests_of_walk() == 1U);
}

BOOST_AUTO_TEST_CASE(an_open_file_that_is_removed_is_read_and_written_on) {
  const StorePlace place;
  ObjectMount mount(place);
  BOOST_TEST(errno_of_writing(mount / "one", 0, "some text") == 0);
  const Fd fd(::open((mount / "one").c_str(), O_RDWR | O_CLOEXEC));
  BOOST_TEST(::unlink((mount / "one").c_str()) == 0);
  BOOST_TEST(::pwrite(fd.get(), "SOME", 4, 0) == 4);
  char read[16] = {};
  BOOST_TEST(::pread(fd.get(), read, sizeof read, 0) == 9);
  BOOST_TEST(std::string(read) == "SOME text");
  BOOST_TEST(names_in(mount.path()).empty());
}

BOOST_AUTO_TEST_CASE(files_are_renamed) {
  const StorePlace place;
  ObjectMount mount(place);
  const std::string contents = text(make_contents("noise", 7, 6'000'000, 1));
  BOOST_TEST(errno_of_writing(mount / "one", 0, contents) == 0);
  BOOST_TEST(::mkdir((mount / "in").c_str(), 0755) == 0);
  const auto move = [&](const char* from, const char* to) {
    return ::rename((mount / from).c_str(), (mount / to).c_str()) == 0 ? 0 : errno;
  };
  BOOST_TEST(move("one", "two") == 0);
  BOOST_TEST((names_in(mount.path()) == std::vector<std::string>{"in", "two"}));
  BOOST_TEST(move("two", "in/three") == 0);
  BOOST_TEST((file_text(mount / "in/three") == contents));
  BOOST_TEST(errno_of_writing(mount / "in/old", 0, "old") == 0);
  BOOST_TEST(move("in/three", "in/old") == 0);
  BOOST_TEST((names_in(mount / "in") == std::vector<std::string>{"old"}));
  // The rename commits a dirty file first.
  BOOST_TEST(errno_of_writing(mount / "fresh", 0, "fresh", 0, false) == 0);
  BOOST_TEST(move("fresh", "moved") == 0);
  BOOST_TEST(file_text(mount / "moved") == "fresh");
  BOOST_TEST(errno_of_writing(mount / "moved", 5, ", and more") == 0);
  const ObjectMount other(place);
  BOOST_TEST((names_in(other.path()) == std::vector<std::string>{"in", "moved"}));
  BOOST_TEST(file_text(other / "moved") == "fresh, and more");
  BOOST_TEST((names_in(other / "in") == std::vector<std::string>{"old"}));
  BOOST_TEST((file_text(other / "in/old") == contents));
  must_run({"mv", mount / "in", mount / "away"});
  BOOST_TEST((file_text(mount / "away/old") == contents));
  BOOST_TEST(errno_of_status(mount / "in") == ENOENT);
}

BOOST_AUTO_TEST_CASE(an_edit_that_ends_in_a_rename_replaces_the_file) {
  const StorePlace place;
  ObjectMount mount(place);
  BOOST_TEST(errno_of_writing(mount / "one", 0, "before") == 0);
  for (int round = 0; round < 3; round++) {
    const std::string contents = fmt::format("behind {}", round);
    BOOST_TEST(errno_of_writing(mount / ".one.new", 0, contents, O_EXCL) == 0);
    BOOST_TEST(::rename((mount / ".one.new").c_str(), (mount / "one").c_str()) == 0);
    BOOST_TEST(file_text(mount / "one") == contents);
    const ObjectMount other(place);
    BOOST_TEST((names_in(other.path()) == std::vector<std::string>{"one"}));
    BOOST_TEST(file_text(other / "one") == contents);
  }
}

BOOST_AUTO_TEST_CASE(programs_copy_trees, *utf::precondition(needs_programs("rsync tar cp diff"))) {
  const StorePlace place;
  const TempDir local;
  fs_std::create_directories(local / "tree/in/side");
  fs_std::create_directories(local / "tree/empty");
  for (const std::string kind : {"text", "noise", "zeros"}) {
    write_file(local / ("tree/" + kind), make_contents(kind, 8, 300'000, 1));
    write_file(local / ("tree/in/side/" + kind), make_contents(kind, 9, 10, 1));
  }
  write_file(local / "tree/in/none", std::string_view());
  write_file(local / "tree/in/a b%20c", std::string_view("odd name"));
  fs_std::permissions(local / "tree/text", fs_std::perms(0600));
  must_run({"touch", "-d", "2001-02-03 04:05:06.5", local / "tree/text"});
  must_run({"tar", "-C", local.path(), "-cf", local / "tree.tar", "tree"});
  ObjectMount mount(place);
  must_run({"cp", "-a", local / "tree", mount / "by-cp"});
  must_run({"rsync", "-a", (local / "tree").string() + "/", mount / "by-rsync"});
  BOOST_TEST(::mkdir((mount / "by-tar").c_str(), 0755) == 0);
  must_run({"tar", "-C", mount / "by-tar", "-xf", local / "tree.tar"});
  const auto check = [&](const Mount& there) {
    for (const char* copy : {"by-cp", "by-rsync", "by-tar/tree"}) {
      must_run({"diff", "-r", local / "tree", there / copy});
      const struct stat st = status_of(there / copy / "text");
      BOOST_TEST((st.st_mode & 07777) == 0600U, copy);
      BOOST_TEST(st.st_mtim.tv_sec == status_of(local / "tree/text").st_mtim.tv_sec, copy);
    }
  };
  check(mount);
  BOOST_TEST(mount.unmount().ok(), mount.log());
  ObjectMount again(place);
  check(again);
  const ProcessResult same = run(
      {"rsync", "-ai", "--omit-dir-times", (local / "tree").string() + "/", again / "by-rsync"});
  BOOST_TEST(same.ok(), same.description());
  BOOST_TEST(same.out == "");
  must_run({"rm", "-r", again / "by-cp", again / "by-rsync", again / "by-tar"});
  BOOST_TEST(names_in(again.path()).empty());
}

BOOST_AUTO_TEST_CASE(metalayers_are_kept) {
  const StorePlace place;
  ObjectMount mount(place);
  BOOST_TEST(errno_of_writing(mount / "one", 0, "some text") == 0);
  BOOST_TEST(errno_of_set_xattr(mount / "one", "user.blosc2.vlmeta.note", "of ours") == 0);
  BOOST_TEST(get_xattr(mount / "one", "user.blosc2.vlmeta.note").value() == "of ours");
  BOOST_TEST(errno_of_syncing(mount / "one") == 0);
  const ObjectMount other(place);
  BOOST_TEST(get_xattr(other / "one", "user.blosc2.vlmeta.note").value() == "of ours");
  BOOST_TEST(file_text(other / "one") == "some text");
}

BOOST_AUTO_TEST_CASE(other_objects_are_shown_and_removed_but_not_changed) {
  const StorePlace place;
  place.tree().put("plain", {}, {}, {});
  ObjectMount mount(place);
  BOOST_TEST(errno_of_writing(mount / "plain", 0, "text") == EROFS);
  BOOST_TEST(::link((mount / "plain").c_str(), (mount / "other").c_str()) == -1);
  BOOST_TEST(::symlink("plain", (mount / "other").c_str()) == -1);
  BOOST_TEST(::unlink((mount / "plain").c_str()) == 0);
  BOOST_TEST(names_in(mount.path()).empty());
  BOOST_TEST(place.objects().count("plain") == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
