// Another program changes SOURCE at each moment of an operation of the mount. The result must be
// the same as if the two had come one after the other.

#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/core.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/mount/watched_calls.hpp"
#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {
namespace {

/// A change by another program, in SOURCE.
struct OthersChange {
  const char* name;
  void (*make)(const fs_std::path& source);
};

/// An operation of the mount.
struct OwnChange {
  const char* name;
  void (*work)(InProcess& mount);
};

void write_foreign_file(const fs_std::path& source, const std::string& name,
                        const ByteVector& bytes) {
  write_file(source / "theirs", bytes);
  fs_std::rename(source / "theirs", source / name);
}

const std::vector<OthersChange> kOthersChanges{
    {"replace one",
     [](const fs_std::path& s) { write_foreign_file(s, "one.b2frame", flat_frame("their one")); }},
    {"replace two",
     [](const fs_std::path& s) { write_foreign_file(s, "two.b2frame", flat_frame("their two")); }},
    {"replace one by text",
     [](const fs_std::path& s) { write_foreign_file(s, "one.b2frame", bytes_of("text")); }},
    {"remove one", [](const fs_std::path& s) { fs_std::remove(s / "one.b2frame"); }},
    {"remove two", [](const fs_std::path& s) { fs_std::remove(s / "two.b2frame"); }},
    {"make a plain file new",
     [](const fs_std::path& s) { write_foreign_file(s, "new", bytes_of("theirs")); }},
    {"make a frame new",
     [](const fs_std::path& s) { write_foreign_file(s, "new.b2frame", flat_frame("their new")); }},
    {"make a directory new", [](const fs_std::path& s) { fs_std::create_directory(s / "new"); }},
    {"make a file in empty",
     [](const fs_std::path& s) { write_file(s / "empty/x", bytes_of("x")); }},
    {"remove empty", [](const fs_std::path& s) { fs_std::remove(s / "empty"); }},
};

const std::vector<OwnChange> kOwnChanges{
    {"rename one to two", [](InProcess& m) { m.rename("one", "two"); }},
    {"rename one to new", [](InProcess& m) { m.rename("one", "new"); }},
    {"rename one to new, which is free",
     [](InProcess& m) { m.rename("one", "new", RENAME_NOREPLACE); }},
    {"exchange one and two", [](InProcess& m) { m.rename("one", "two", RENAME_EXCHANGE); }},
    {"rename empty to new", [](InProcess& m) { m.rename("empty", "new"); }},
    {"remove one", [](InProcess& m) { m.remove("one"); }},
    {"remove empty", [](InProcess& m) { m.remove_directory("empty"); }},
    {"link one to new", [](InProcess& m) { m.make_link("one", "new"); }},
    {"make a directory new", [](InProcess& m) { m.make_directory("new"); }},
    {"make a symlink new", [](InProcess& m) { m.make_symlink("one", "new"); }},
};

void describe_shown(InProcess& mount, const std::string& path, std::string& text) {
  for (const std::string& name : mount.names(path)) {
    const std::string inside = path.empty() ? name : path + "/" + name;
    const struct stat st = mount.stat(inside);
    text += inside;
    if (S_ISDIR(st.st_mode)) {
      text += "/ ";
      describe_shown(mount, inside, text);
    } else if (S_ISLNK(st.st_mode)) {
      text += " -> " + mount.read_link(inside) + " ";
    } else {
      const ByteVector bytes = mount.read(inside);
      text += fmt::format("({}: {}) ", st.st_nlink, std::string(bytes.begin(), bytes.end()));
    }
  }
}

/// Returns a text with all paths in SOURCE and the bytes of their files.
std::string stored_tree(const fs_std::path& source) {
  std::set<std::string> lines;
  for (const auto& entry : fs_std::recursive_directory_iterator(source)) {
    const std::string name = fs_std::relative(entry.path(), source).string();
    if (name == ".bloscfs-lock") continue;
    std::string line = name;
    if (entry.is_symlink())
      line += " -> " + fs_std::read_symlink(entry.path()).string();
    else if (entry.is_regular_file())
      for (const std::uint8_t byte : read_file(entry.path())) line += fmt::format(" {:x}", byte);
    lines.insert(line);
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// Describes what a new mount of SOURCE shows, and the temporaries that it leaves there. The text
/// depends only on the files, so it is cached.
std::string shown_later(const fs_std::path& source) {
  static std::map<std::string, std::string> known;
  const auto [found, is_new] = known.try_emplace(stored_tree(source));
  if (!is_new) return found->second;
  std::string& text = found->second;
  InProcess mount(source);
  describe_shown(mount, {}, text);
  for (const std::string& name : stored_names(source))
    if (name.ends_with(".tmp")) text += "leftover " + name;
  return text;
}

void make_files(const fs_std::path& source) {
  write_file(source / "one.b2frame", flat_frame("one"));
  write_file(source / "two.b2frame", flat_frame("two"));
  fs_std::create_directory(source / "empty");
}

struct ChangedTree {
  std::string tree;
  int error = 0;  ///< of the operation
  int looks = 0;  ///< the operation's lookups of names
};

/// Values of `at_look`: the other program makes its change before the operation, or after it.
constexpr int kBefore = 0, kAfter = -1;

/// Returns nullopt if the other program's change fails because the operation has removed the file.
std::optional<ChangedTree> changed_tree_of(const OwnChange& operation, const OthersChange& change,
                                           int at_look) {
  const TempDir source;
  make_files(source.path());
  bool is_possible = true;
  const auto make_change = [&] {
    is_possible = error_of([&] { change.make(source.path()); }) == 0;
  };
  if (at_look == kBefore) make_change();
  ChangedTree result;
  std::string shown;
  {
    InProcess mount(source.path());
    int looks = 0;
    // Changes between the last look and the system call that follows are not tested. That call goes
    // by name, and affects the file that has the name then.
    const auto at_call = [&, thread = std::this_thread::get_id()](Call call, const std::string&) {
      const bool is_own = call == Call::look && std::this_thread::get_id() == thread;
      if (is_own && ++looks == at_look) make_change();
      return 0;
    };
    {
      const WatchedCalls watched(at_call);
      result.error = error_of([&] { operation.work(mount); });
    }
    result.looks = looks;
    if (at_look == kAfter) make_change();
    describe_shown(mount, {}, shown);
  }
  if (!is_possible) return std::nullopt;
  result.tree = shown_later(source.path());
  BOOST_TEST(result.tree == shown);
  return result;
}

std::string tree_with_theirs(const OthersChange& change) {
  const TempDir source;
  make_files(source.path());
  change.make(source.path());
  return shown_later(source.path());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(changed_meanwhile)

BOOST_AUTO_TEST_CASE(operations_and_changes_by_others_come_one_after_the_other) {
  for (const OwnChange& operation : kOwnChanges)
    for (const OthersChange& change : kOthersChanges) {
      std::set<std::string> expected;
      const std::string change_alone = tree_with_theirs(change);
      BOOST_TEST_CONTEXT(operation.name << ", others: " << change.name) {
        for (const int when : {kBefore, kAfter})
          if (const auto result = changed_tree_of(operation, change, when))
            expected.insert(result->tree);
        for (int at = 1;; at++) {
          const auto result = changed_tree_of(operation, change, at);
          if (!result || result->looks < at) break;
          const bool is_expected = expected.contains(result->tree) ||
                                   (result->error != 0 && result->tree == change_alone);
          BOOST_TEST(is_expected,
                     "at look " << at << ": error " << result->error << ", " << result->tree);
        }
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
