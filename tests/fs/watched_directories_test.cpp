// What a SOURCE with watched directories reports while another program changes it.

#include "fs/source/local/files/watched_directories.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/source/local/files/source_root.hpp"
#include "tests/support/draw.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {
namespace {

namespace fs_std = std::filesystem;
using namespace bloscfs::fs;

frame::UniqueFd opened(const fs_std::path& directory) {
  return frame::UniqueFd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

std::optional<Identity> identity_at(const fs_std::path& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0 ? std::optional(identity_of(st)) : std::nullopt;
}

/// A directory that `root` watches, and that `asking` does not watch.
struct WatchedPlace {
  TempDir directory;
  SourceRoot root{opened(directory.path())};
  const SourceRoot asking{opened(directory.path())};
  WatchedPlace() { root.watch_directories(256); }

  fs_std::path operator/(const std::string& path) const { return directory / path; }

  /// Looks up a name as the tree does: in the directory `meant`, which may have moved away from the
  /// path `in`.
  static std::optional<Identity> seen_by(const SourceRoot& root, const std::string& in,
                                         const std::optional<Identity>& meant,
                                         const std::string& name, OneLook* within = nullptr) {
    const SourcePath path =
        in.empty() ? SourcePath(name) : join_path(SourcePath(SourcePath(in), *meant), name);
    const auto object = root.find_any(path, within);
    return object ? std::optional(identity_of(object->stat())) : std::nullopt;
  }
  std::optional<Identity> seen(const std::string& in, const std::optional<Identity>& meant,
                               const std::string& name, OneLook* within = nullptr) const {
    return seen_by(root, in, meant, name, within);
  }
  std::optional<Identity> seen(const std::string& in, const std::string& name) const {
    const auto meant = identity_at(directory / in);
    return meant ? seen(in, meant, name) : std::nullopt;
  }
  /// Returns true if two lookups return the same object, so the second one did not open the file.
  bool is_watched(const std::string& name) const {
    const auto first = root.find_any({name});
    return first && first == root.find_any({name});
  }
  void watch(const std::string& name) const {
    for (int i = 0; i < 10 && !is_watched(name); i++) {
    }
    BOOST_TEST(is_watched(name));
  }
};

void make_file(const fs_std::path& path) { std::ofstream(path).put('x'); }

std::size_t open_descriptors() {
  return static_cast<std::size_t>(
      std::distance(fs_std::directory_iterator("/proc/self/fd"), fs_std::directory_iterator()));
}

/// Makes one random change, as another program does. There are few names, so that changes collide.
void change(const fs_std::path& root, const fs_std::path& elsewhere, Random& random) {
  const std::vector<std::string> directories{"", "a", "b", "a/c", "a/c/d"};
  const std::vector<std::string> names{"a", "b", "c", "d", "x", "y"};
  const auto draw = [&] {
    return one_in(random, 12) ? elsewhere / pick(random, names)
                              : root / pick(random, directories) / pick(random, names);
  };
  const fs_std::path one = draw(), other = draw();
  std::error_code error;
  switch (between(random, 0, 8)) {
    case 0:
      make_file(one);
      break;
    case 1:
      fs_std::create_directory(one, error);
      break;
    case 2:
      ::unlink(one.c_str());
      break;
    case 3:
      ::rmdir(one.c_str());
      break;
    case 4:
      ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
      break;
    case 5:
      fs_std::create_symlink("x", one, error);
      break;
    case 6:
      ::link(one.c_str(), other.c_str());
      break;
    default:
      ::rename(one.c_str(), other.c_str());
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(watched_directories)

BOOST_AUTO_TEST_CASE(tell_at_once_whatever_others_do) {
  const WatchedPlace place;
  const TempDir elsewhere;
  make_file(place / "x");
  place.watch("x");
  Random random(7);
  const std::vector<std::string> directories{"", "a", "b", "a/c", "a/c/d"};
  const std::vector<std::string> names{"a", "b", "c", "d", "x", "y"};
  int present = 0;
  for (int i = 0; i < 20'000; i++) {
    for (int changes = between(random, 0, 3); changes > 0; changes--)
      change(place.directory.path(), elsewhere.path(), random);
    OneLook look;
    for (int looks = between(random, 1, 6); looks > 0; looks--) {
      const std::string in = pick(random, directories), name = pick(random, names);
      const auto meant = identity_at(place / in);
      if (!meant) continue;
      const auto there = WatchedPlace::seen_by(place.asking, in, meant, name);
      BOOST_TEST_REQUIRE((place.seen(in, meant, name, &look) == there),
                         i << ": " << in << "/" << name);
      present += there ? 1 : 0;
    }
    if (one_in(random, 500)) place.root.tidy();
  }
  BOOST_TEST(present > 1000);
}

BOOST_AUTO_TEST_CASE(tell_each_of_several_who_look_at_once_what_was_done_before) {
  constexpr int kChanges = 3000, kLookers = 4;
  const WatchedPlace place;
  const auto name = [](int number) { return "n" + std::to_string(number); };
  make_file(place / name(0));
  place.watch(name(0));
  std::atomic<int> made = 0, wrong = 0, seen = 0;
  std::vector<std::thread> lookers;
  for (int i = 0; i < kLookers; i++)
    lookers.emplace_back([&] {
      for (int last = 0; last < kChanges; last = made) {
        const int before = made;
        const bool is_there = place.root.find_any({name(before)}) != nullptr;
        const bool is_next_there = place.root.find_any({name(before + 2)}) != nullptr;
        const int after = made;
        // File n+1 is made before `made` becomes n+1 and before file n is removed.
        if (!is_there && after == before) wrong++;
        if (is_next_there && after < before + 1) wrong++;
        if (is_there) seen++;
      }
    });
  for (int number = 1; number <= kChanges; number++) {
    make_file(place / name(number));
    made = number;
    fs_std::remove(place / name(number - 1));
  }
  for (std::thread& looker : lookers) looker.join();
  BOOST_TEST(wrong == 0);
  BOOST_TEST(seen > 0);
}

BOOST_AUTO_TEST_CASE(give_each_of_several_who_look_at_once_what_has_the_name) {
  constexpr int kChanges = 2000, kLookers = 4;
  const WatchedPlace place;
  std::map<std::uint64_t, int> numbers;  // by inode
  for (int i = 0; i <= kChanges; i++) {
    make_file(place / std::to_string(i));
    numbers[identity_at(place / std::to_string(i))->inode] = i;
  }
  fs_std::rename(place / "0", place / "x");
  place.watch("x");
  std::atomic<int> renamed = 0, wrong = 0, seen = 0;
  std::vector<std::thread> lookers;
  for (int i = 0; i < kLookers; i++)
    lookers.emplace_back([&] {
      for (int before = 0; before < kChanges; before = renamed) {
        const auto object = place.root.find_any({"x"});
        const int after = renamed;
        seen++;
        const int number = object ? numbers.at(object->stat().st_ino) : -1;
        if (number < before || number > after + 1) wrong++;
      }
    });
  for (int number = 1; number <= kChanges; number++) {
    fs_std::rename(place / std::to_string(number), place / "x");
    renamed = number;
  }
  for (std::thread& looker : lookers) looker.join();
  BOOST_TEST(wrong == 0);
  BOOST_TEST(seen > 0);
}

BOOST_AUTO_TEST_CASE(keep_nothing_that_was_found_before_a_change) {
  const TempDir directory;
  for (const char* name : {"x", "y"}) make_file(directory / name);
  const frame::UniqueFd root = opened(directory.path());
  WatchedDirectories watched(
      root.get(), [](int, const std::string&) { return frame::UniqueFd(); }, 16);
  watched.visited({}, identity_at(directory.path()).value(), 10);
  const auto object_at = [&](const char* name) {
    return std::make_shared<const SourceObject>(
        frame::UniqueFd(::open((directory / name).c_str(), O_PATH | O_CLOEXEC)), name);
  };
  const auto before = watched.look({}, "x");
  BOOST_TEST_REQUIRE(before.moment.watch > 0U);
  const auto old = object_at("x");
  fs_std::rename(directory / "y", directory / "x");
  const auto after = watched.look({}, "x");
  watched.found({}, "x", before.moment, old);
  BOOST_TEST(!watched.look({}, "x").object);
  const auto present = object_at("x");
  watched.found({}, "x", after.moment, present);
  BOOST_TEST((watched.look({}, "x").object == present));
}

BOOST_AUTO_TEST_CASE(are_none_any_more_where_their_path_does_not_lead_to_them) {
  const WatchedPlace place;
  const TempDir elsewhere;
  fs_std::create_directories(place / "a/b");
  make_file(place / "a/b/x");
  const auto meant = identity_at(place / "a/b");
  for (int i = 0; i < 10; i++) BOOST_TEST(place.seen("a/b", meant, "x").has_value());
  // The directory keeps its identity, but it has moved.
  fs_std::rename(place / "a", elsewhere / "a");
  BOOST_TEST(!place.seen("a/b", meant, "x").has_value());
  fs_std::create_directories(place / "a/b");
  BOOST_TEST(!place.seen("a/b", meant, "x").has_value());
  fs_std::rename(elsewhere / "a/b", place / "b");
  BOOST_TEST(!place.seen("a/b", meant, "x").has_value());
  BOOST_TEST(place.seen("b", meant, "x").has_value());
}

BOOST_AUTO_TEST_CASE(are_asked_again_where_more_has_changed_than_can_be_told) {
  const WatchedPlace place;
  make_file(place / "x");
  place.watch("x");
  for (int i = 0; i < 10'000; i++) {
    make_file(place / "y");
    fs_std::remove(place / "y");
  }
  fs_std::remove(place / "x");
  make_file(place / "z");
  BOOST_TEST(!place.seen("", "x").has_value());
  BOOST_TEST(place.seen("", "z").has_value());
}

BOOST_AUTO_TEST_CASE(know_what_they_do_not_have_without_being_asked) {
  const WatchedPlace place;
  fs_std::create_directory(place / "d");
  make_file(place / "d/x");
  const Identity known = identity_at(place / "d").value();
  const auto is_absent = [&](const std::string& name) {
    return place.root.is_known_absent({"d"}, known, name);
  };
  BOOST_TEST(!is_absent("y"));
  for (int i = 0; i < 10; i++) place.seen("d", "x");
  BOOST_TEST(is_absent("y"));
  BOOST_TEST(!is_absent("x"));
  make_file(place / "d/y");
  BOOST_TEST(!is_absent("y"));
  fs_std::rename(place / "d", place / "e");
  fs_std::create_directory(place / "d");
  BOOST_TEST(!is_absent("z"));
}

BOOST_AUTO_TEST_CASE(are_let_go_of_when_nobody_asks_for_them) {
  const WatchedPlace place;
  for (int i = 0; i < 1000; i++) make_file(place / std::to_string(i));
  const std::size_t before = open_descriptors();
  place.watch("1");
  for (int i = 0; i < 1000; i++) place.seen("", std::to_string(i));
  BOOST_TEST(open_descriptors() > before);
  BOOST_TEST(open_descriptors() < before + 260);
  // Removed files must not keep descriptors open any longer than this.
  for (int i = 0; i < 3; i++) place.root.tidy();
  BOOST_TEST(open_descriptors() < before + 3);
  for (int i = 0; i < 10; i++) place.root.tidy();
  BOOST_TEST(open_descriptors() == before);
}

BOOST_AUTO_TEST_CASE(are_asked_again_where_something_is_mounted_over_them,
                     *boost::unit_test::precondition(needs_root)) {
  const WatchedPlace place;
  fs_std::create_directory(place / "a");
  make_file(place / "a/x");
  const auto meant = identity_at(place / "a");
  for (int i = 0; i < 10; i++) BOOST_TEST(place.seen("a", meant, "x").has_value());
  BOOST_TEST_REQUIRE(::mount("none", (place / "a").c_str(), "tmpfs", 0, nullptr) == 0);
  place.root.tidy();
  const bool is_seen = place.seen("a", meant, "x").has_value();
  BOOST_TEST(::umount((place / "a").c_str()) == 0);
  BOOST_TEST(!is_seen);
}

BOOST_AUTO_TEST_CASE(are_not_accessed_by_being_watched) {
  const WatchedPlace place;
  make_file(place / "x");
  // The access time is older than the last change. So any read of the directory would update it,
  // even with relatime.
  const timespec times[2] = {{1, 0}, {2, 0}};
  ::utimensat(AT_FDCWD, place.directory.path().c_str(), times, 0);
  place.watch("x");
  struct stat st {};
  BOOST_TEST_REQUIRE(::stat(place.directory.path().c_str(), &st) == 0);
  BOOST_TEST(st.st_atim.tv_sec == 1);
}

BOOST_AUTO_TEST_CASE(are_watched_at_once_when_all_that_is_in_them_will_be_looked_at) {
  const WatchedPlace place;
  fs_std::create_directory(place / "a");
  make_file(place / "a/x");
  const auto meant = identity_at(place / "a");
  const SourcePath directory(SourcePath("a"), *meant);
  place.root.expect_lookups(directory, 1);
  BOOST_TEST(place.root.find_any(join_path(directory, "x")) !=
             place.root.find_any(join_path(directory, "x")));
  place.root.tidy();  // starts a new count
  place.root.expect_lookups(directory, 3);
  const auto seen = place.root.find_any(join_path(directory, "x"));
  BOOST_TEST_REQUIRE(seen);
  BOOST_TEST(seen == place.root.find_any(join_path(directory, "x")));
  make_file(place / "y");
  fs_std::rename(place / "y", place / "a/x");
  BOOST_TEST((place.seen("a", meant, "x") == identity_at(place / "a/x")));
  fs_std::rename(place / "a", place / "b");
  BOOST_TEST(!place.seen("a", meant, "x").has_value());
}

BOOST_AUTO_TEST_CASE(keep_nothing_open_of_what_the_mount_takes_away) {
  const WatchedPlace place;
  for (const char* name : {"x", "y"}) make_file(place / name);
  for (const char* name : {"x", "y"}) place.watch(name);
  const std::weak_ptr<const SourceObject> x = place.root.find_any({"x"});
  const std::weak_ptr<const SourceObject> y = place.root.find_any({"y"});
  BOOST_TEST(!x.expired());
  ::unlink((place / "x").c_str());
  for (const char* name : {"x", "y", "z"}) place.root.drop_object({}, name);
  BOOST_TEST(x.expired());
  BOOST_TEST(y.expired());
  // The names that remain are those in the directory.
  BOOST_TEST(!place.root.find_any({"x"}));
  BOOST_TEST((place.seen("", "y") == identity_at(place / "y")));
}

BOOST_AUTO_TEST_CASE(within_one_look_are_what_they_were_at_its_beginning) {
  const WatchedPlace place;
  make_file(place / "x");
  place.watch("x");
  const auto meant = identity_at(place.directory.path());
  OneLook look;
  const auto is_there = [&] { return place.seen("", meant, "y", &look).has_value(); };
  BOOST_TEST(!is_there());
  make_file(place / "y");
  BOOST_TEST(!is_there());
  look.renew();
  BOOST_TEST(is_there());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
