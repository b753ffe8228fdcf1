// The rules of POSIX for names and attributes. Every operation in a mount must have the effects
// that it has in an ordinary directory of the same filesystem.

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/mount/posix_cases.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using Path = fs_std::path;

const std::string kText = "contents";
/// A commit changes the access time. With this option the mount makes no commit on its own in a
/// test.
constexpr const char* kCommitsOnlyWhenAsked = "commit=3600";

/// How the files of a case are made.
enum class Origin {
  uncommitted,  ///< made through the mount a moment ago
  committed,    ///< made through the mount and synced
  stored,       ///< a frame in SOURCE that the mount has not opened yet
  plain         ///< a file in SOURCE that is shown as it is
};

/// Where cases run: in an ordinary directory, or in a mount of `source`.
struct Roots {
  Path directory;
  std::optional<Path> source = {};
};

Path case_directory(const Path& above, std::size_t number) {
  return above / ("case" + std::to_string(number));
}

void sync(const Path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd) ::fsync(fd.get());
}

void make_file(const Roots& place, std::size_t number, const std::string& name, Origin origin) {
  const Path shown = case_directory(place.directory, number) / name;
  if (place.source && origin == Origin::stored)
    return write_file(case_directory(*place.source, number) / (name + ".b2frame"),
                      flat_frame(kText));
  if (place.source && origin == Origin::plain)
    return write_file(case_directory(*place.source, number) / name, kText);
  write_file(shown, kText);
}

void prepare(const Roots& place, std::size_t number, const PosixCase& made, Origin origin) {
  const Path in = case_directory(place.directory, number);
  for (const Path& directory : {in, in / kEmpty, in / kFull}) fs_std::create_directory(directory);
  for (const char* name : {kFile, kOther, "e/inside"}) make_file(place, number, name, origin);
  fs_std::create_symlink(kFile, in / kLink);
  fs_std::create_symlink(kLoop, in / kLoop);
  if (made.prepare) made.prepare(in);
  if (place.source && origin == Origin::committed)
    for (const Path& directory : {in, in / kFull}) sync(directory);
}

/// Returns the attributes of a file. Asks the daemon instead of the kernel's cache if `past_cache`.
struct statx look(const Path& path, bool past_cache) {
  struct statx st {};
  const int flags = AT_SYMLINK_NOFOLLOW | (past_cache ? AT_STATX_FORCE_SYNC : 0);
  if (::statx(AT_FDCWD, path.c_str(), flags, STATX_BASIC_STATS, &st) != 0) throw_errno(path);
  return st;
}

using Sight = std::map<std::string, struct statx>;

Sight look_around(const Path& directory, bool past_cache = false) {
  Sight sight{{".", look(directory, past_cache)}};
  for (const auto& entry : fs_std::recursive_directory_iterator(directory))
    sight[entry.path().lexically_relative(directory)] = look(entry.path(), past_cache);
  return sight;
}

/// Reads directories and links once before the test: with relatime, only the first access changes
/// the access time, and a mount serves later ones from the kernel's cache.
void update_access_times(const Path& directory) {
  look_around(directory);
  for (const char* name : {kLink, kLoop}) ::access((directory / name).c_str(), F_OK);
}

bool differ(const statx_timestamp& a, const statx_timestamp& b) {
  return a.tv_sec != b.tv_sec || a.tv_nsec != b.tv_nsec;
}

std::string description(const struct statx& st) {
  std::string text = "mode " + std::to_string(st.stx_mode) + " links " +
                     std::to_string(st.stx_nlink) + " owner " + std::to_string(st.stx_uid) + ":" +
                     std::to_string(st.stx_gid);
  if (!S_ISDIR(st.stx_mode)) text += " size " + std::to_string(st.stx_size);
  return text;
}

std::string changed_times(const struct statx& before, const struct statx& after) {
  std::string text;
  if (differ(before.stx_atime, after.stx_atime)) text += " atime";
  if (differ(before.stx_mtime, after.stx_mtime)) text += " mtime";
  if (differ(before.stx_ctime, after.stx_ctime)) text += " ctime";
  return text.empty() ? " nothing" : text;
}

/// The effects of a case, by the names of the objects.
using Effects = std::map<std::string, std::string>;

Effects effects(int error, const Sight& before, const Sight& after) {
  Effects all{{"errno", std::to_string(error)}};
  std::map<std::uint64_t, struct statx> known;
  for (const auto& [name, st] : before) known[st.stx_ino] = st;
  for (const auto& [name, st] : after) {
    const auto old = known.find(st.stx_ino);
    all[name] = description(st) +
                (old == known.end() ? ", new" : ", changed" + changed_times(old->second, st));
  }
  return all;
}

/// Lists the effects that only one of the two has, one in a line.
std::string differences(const Effects& got, const Effects& wanted) {
  std::string text;
  const auto add = [&text](const char* what, const Effects& from, const Effects& other) {
    for (const auto& [name, effect] : from)
      if (const auto same = other.find(name); same == other.end() || same->second != effect)
        text += "\n  " + std::string(what) + " " + name.substr(0, 20) + ": " + effect;
  };
  add("got", got, wanted);
  add("wanted", wanted, got);
  return text;
}

bool is_of(mode_t mode, mode_t type) { return (mode & S_IFMT) == type; }

/// Commits the changed files, and new files that still wait for their full names.
void commit(const Sight& before, const Sight& after, const Path& directory) {
  for (const auto& [name, st] : after) {
    const auto old = before.find(name);
    const bool is_changed = old == before.end() || differ(old->second.stx_ctime, st.stx_ctime);
    if (is_changed && is_of(st.stx_mode, S_IFREG)) sync(directory / name);
  }
  for (const auto& [name, st] : after)
    if (is_of(st.stx_mode, S_IFDIR)) sync(directory / name);
}

/// Checks that objects keep their times and links when they are committed.
void check_commit(const std::string& name, const Path& directory, const Sight& before) {
  const Sight committed = look_around(directory, true);
  Effects got, wanted;
  for (const auto& [object, st] : committed) {
    wanted[object] = description(before.at(object));
    got[object] = description(st);
    if (differ(before.at(object).stx_mtime, st.stx_mtime)) got[object] += ", changed mtime";
    if (differ(before.at(object).stx_ctime, st.stx_ctime)) got[object] += ", changed ctime";
  }
  BOOST_TEST(differences(got, wanted) == "", "commit after " << name << differences(got, wanted));
}

/// Runs the cases and returns their effects. With `holds_open` these include the attributes that
/// open files have afterwards.
std::vector<Effects> run(const std::vector<PosixCase>& cases, const Roots& place, Origin origin,
                         bool holds_open) {
  for (std::size_t i = 0; i < cases.size(); ++i) prepare(place, i, cases[i], origin);
  await_file_time_step();
  for (std::size_t i = 0; i < cases.size(); ++i)
    update_access_times(case_directory(place.directory, i));
  await_file_time_step();
  std::vector<Effects> results;
  std::vector<Sight> sights, old_sights;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Path in = case_directory(place.directory, i);
    std::map<std::string, Fd> held;
    if (holds_open)
      for (const char* name : {kFile, kOther})
        held[name] = Fd(::open((in / name).c_str(), O_RDONLY | O_CLOEXEC));
    old_sights.push_back(look_around(in));
    const Sight& before = old_sights.back();
    const int error = cases[i].act(in);
    sights.push_back(look_around(in));
    results.push_back(effects(error, before, sights.back()));
    for (const auto& [name, fd] : held) {
      struct statx st {};
      if (::statx(fd.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) != 0) throw_errno(name);
      results.back()["held " + name] =
          description(st) + ", changed" + changed_times(before.at(name), st);
    }
  }
  if (!place.source) return results;
  await_file_time_step();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Path in = case_directory(place.directory, i);
    commit(old_sights[i], sights[i], in);
    check_commit(cases[i].name, in, sights[i]);
  }
  return results;
}

void compare(const std::vector<PosixCase>& cases, Origin origin, bool holds_open,
             const std::vector<std::string>& options = {}) {
  const TempDir ordinary, source;
  for (const TempDir* directory : {&ordinary, &source})
    fs_std::permissions(directory->path(), fs_std::perms(0755));
  MountSettings settings;
  settings.options = options;
  settings.options.insert(settings.options.end(),
                          {"allow_other", "dev", "suid", kCommitsOnlyWhenAsked});
  Mount mount(source.path(), settings);
  const auto wanted = run(cases, {ordinary.path()}, origin, holds_open);
  const auto got = run(cases, {mount.path(), source.path()}, origin, holds_open);
  for (std::size_t i = 0; i < cases.size(); ++i)
    BOOST_TEST(differences(got[i], wanted[i]) == "",
               cases[i].name << differences(got[i], wanted[i]));
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(posix_rules)

BOOST_AUTO_TEST_CASE(attributes_of_uncommitted_files_change_as_elsewhere,
                     *precondition(needs_fuse_as_root)) {
  for (const bool holds_open : {false, true})
    compare(attribute_cases(), Origin::uncommitted, holds_open);
}

BOOST_AUTO_TEST_CASE(attributes_of_committed_files_change_as_elsewhere,
                     *precondition(needs_fuse_as_root)) {
  compare(attribute_cases(), Origin::committed, true);
}

BOOST_AUTO_TEST_CASE(attributes_of_frames_change_as_elsewhere, *precondition(needs_fuse_as_root)) {
  compare(attribute_cases(), Origin::stored, false);
}

BOOST_AUTO_TEST_CASE(attributes_of_plain_files_change_as_elsewhere,
                     *precondition(needs_fuse_as_root)) {
  compare(attribute_cases(), Origin::plain, false);
}

BOOST_AUTO_TEST_CASE(names_of_uncommitted_files_change_as_elsewhere,
                     *precondition(needs_fuse_as_root)) {
  for (const bool holds_open : {false, true})
    compare(name_cases(), Origin::uncommitted, holds_open);
}

BOOST_AUTO_TEST_CASE(names_of_committed_files_change_as_elsewhere,
                     *precondition(needs_fuse_as_root)) {
  compare(name_cases(), Origin::committed, true);
}

BOOST_AUTO_TEST_CASE(names_of_frames_change_as_elsewhere, *precondition(needs_fuse_as_root)) {
  compare(name_cases(), Origin::stored, false);
}

BOOST_AUTO_TEST_CASE(names_of_plain_files_change_as_elsewhere, *precondition(needs_fuse_as_root)) {
  compare(name_cases(), Origin::plain, false);
}

BOOST_AUTO_TEST_CASE(strangers_may_do_what_they_may_elsewhere, *precondition(needs_fuse_as_root)) {
  for (const Origin origin :
       {Origin::uncommitted, Origin::committed, Origin::stored, Origin::plain})
    compare(stranger_cases(), origin, false);
}

BOOST_AUTO_TEST_CASE(changes_take_the_privileges_that_they_take_elsewhere,
                     *precondition(needs_fuse_as_root)) {
  for (const Origin origin : {Origin::uncommitted, Origin::committed, Origin::plain})
    compare(privilege_cases(), origin, false);
  // With the writeback cache, the kernel sets the times, and ignores a truncation to the same size.
  auto cases = privilege_cases();
  std::erase_if(cases,
                [](const PosixCase& made) { return made.name.starts_with("truncate f to 8"); });
  compare(cases, Origin::committed, false, {"writeback"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
