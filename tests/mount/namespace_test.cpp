// Names of containers in a writable mount. Operations on them must have the same effects as on
// ordinary files with the same bytes.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/mount/naming_cases.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/pause.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using Names = std::vector<std::string>;

void write_text(const fs_std::path& path, const std::string& text) {
  write_file(path, bytes_of(text));
}

/// A kind of object, made in SOURCE and in a plain directory that serves as the model.
struct ObjectKind {
  std::string label;
  std::string extension;                                ///< of its shown name
  std::function<void(const fs_std::path&)> make;        ///< takes the path without extension
  std::function<void(const fs_std::path&)> make_model;  ///< takes the shown path
  bool in_mount = false;  ///< made through the mount, so SOURCE does not have it at once
};

std::string flat_text_of(const fs_std::path& path) { return "flat " + path.filename().string(); }

std::function<void(const fs_std::path&)> flat_with(const std::string& suffix) {
  return [suffix](const fs_std::path& path) {
    write_file(path.string() + suffix, flat_frame(flat_text_of(path)));
  };
}

void model_flat(const fs_std::path& path) { write_text(path, flat_text_of(path)); }
void model_array(const fs_std::path& path) { write_text(path, npy_text()); }

std::function<void(const fs_std::path&)> made_by(void (Maker::*make)(const std::string&) const,
                                                 const std::string& suffix) {
  return [make, suffix](const fs_std::path& path) {
    (Maker(path.parent_path()).*make)(path.filename().string() + suffix);
  };
}

std::vector<ObjectKind> object_kinds() {
  const auto plain = made_by(&Maker::plain, "");
  const auto directory = made_by(&Maker::directory, "");
  const auto full = [](const fs_std::path& path) { Maker(path).plain("inside"); };
  const auto link = [](const fs_std::path& path) { fs_std::create_symlink("somewhere", path); };
  const auto fifo = made_by(&Maker::fifo, "");
  const auto sparse = [](const fs_std::path& path) {
    write_sparse_frame(path.string() + ".b2frame", bytes_of(flat_text_of(path)));
  };
  const auto bloscpack = [](const fs_std::path& path) {
    write_file(path.string() + ".blp", bloscpack_file(bytes_of(flat_text_of(path)), 20));
  };
  return {
      {"plain", "", plain, plain},
      {"empty directory", "", directory, directory},
      {"directory", "", full, full},
      {"symlink", "", link, link},
      {"fifo", "", fifo, fifo},
      {"frame", "", flat_with(".b2frame"), model_flat},
      {"frame with another suffix", "", flat_with(".b2"), model_flat},
      {"frame without suffix", "", flat_with(""), model_flat},
      {"sparse frame", "", sparse, model_flat},
      {"array", ".npy", made_by(&Maker::array, ".b2nd"), model_array},
      {"sparse array", ".npy", made_by(&Maker::sparse_array, ".b2nd"), model_array},
      {"flat npy", ".npy", flat_with(".npy.b2frame"), model_flat},
      {"bloscpack", "", bloscpack, model_flat},
      {"new file", "", model_flat, model_flat, true},
      {"new npy", ".npy", model_array, model_array, true},
  };
}

/// Returns a description of each object, by shown name.
std::map<std::string, std::string> shown(const fs_std::path& directory) {
  std::map<std::string, std::string> seen;
  for (const auto& entry : fs_std::directory_iterator(directory)) {
    const fs_std::path path = entry.path();
    struct stat st {};
    if (lstat(path.c_str(), &st) != 0) throw_errno(path);
    std::string text = "other";
    if (S_ISDIR(st.st_mode)) {
      text = "directory";
      for (const auto& [name, inside] : shown(path)) text += " " + name + "=" + inside;
    } else if (S_ISLNK(st.st_mode)) {
      text = "link " + fs_std::read_symlink(path).string();
    } else if (S_ISREG(st.st_mode)) {
      const auto bytes = read_file(path);
      text = "file " + std::string(bytes.begin(), bytes.end());
    }
    seen[path.filename()] = text;
  }
  return seen;
}

/// One rename, in a directory of its own.
struct RenameCase {
  std::string directory;
  const ObjectKind* source;
  const ObjectKind* target;  ///< null if the target does not exist
  std::string from, to;      ///< shown names
  unsigned flags;
};

std::string describe(const RenameCase& what) {
  return what.directory + ": " + what.source->label + " to " +
         (what.target != nullptr ? what.target->label : "nothing") + ", " + what.from + " to " +
         what.to + ", flags " + std::to_string(what.flags);
}

std::vector<RenameCase> rename_cases(const std::vector<ObjectKind>& kinds) {
  std::vector<RenameCase> cases;
  const auto add = [&](const ObjectKind& source, const ObjectKind* target, const std::string& to) {
    for (const unsigned flags :
         {0u, static_cast<unsigned>(RENAME_NOREPLACE), static_cast<unsigned>(RENAME_EXCHANGE)})
      cases.push_back({"case" + std::to_string(cases.size()), &source, target,
                       "s" + source.extension, to, flags});
  };
  for (const ObjectKind& source : kinds) {
    add(source, nullptr, "u");
    add(source, nullptr, "u.npy");
    for (const ObjectKind& target : kinds) add(source, &target, "t" + target.extension);
  }
  return cases;
}

void make_source(const fs_std::path& directory, const ObjectKind& kind, const std::string& base) {
  if (!kind.in_mount) kind.make(directory / base);
}

void make_shown(const fs_std::path& directory, const ObjectKind& kind, const std::string& base) {
  // The contents depend on the path without extension, so make the file there and rename it.
  const fs_std::path shown_path = directory / (base + kind.extension);
  const fs_std::path made = directory / base;
  kind.make_model(made);
  if (made != shown_path) fs_std::rename(made, shown_path);
}

int rename_in(const fs_std::path& root, const RenameCase& what) {
  const fs_std::path directory = root / what.directory;
  return errno_of(renameat2(AT_FDCWD, (directory / what.from).c_str(), AT_FDCWD,
                            (directory / what.to).c_str(), what.flags));
}

void check_nothing_is_left_over(const fs_std::path& source) {
  for (const auto& entry : fs_std::recursive_directory_iterator(source)) {
    const std::string name = entry.path().filename();
    BOOST_TEST(name.find(".bloscfs-") == std::string::npos, entry.path());
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(names)

BOOST_AUTO_TEST_CASE(rename_of_everything_onto_everything, *precondition(needs_fuse)) {
  const TempDir source, model;
  const auto kinds = object_kinds();
  const auto cases = rename_cases(kinds);
  for (const RenameCase& what : cases) {
    for (const fs_std::path& root : {source.path(), model.path()})
      fs_std::create_directory(root / what.directory);
    make_source(source / what.directory, *what.source, "s");
    make_shown(model / what.directory, *what.source, "s");
    if (what.target == nullptr) continue;
    make_source(source / what.directory, *what.target, "t");
    make_shown(model / what.directory, *what.target, "t");
  }
  Mount mount(source.path());
  for (const RenameCase& what : cases) {
    const fs_std::path directory = mount / what.directory;
    if (what.source->in_mount) make_shown(directory, *what.source, "s");
    if (what.target != nullptr && what.target->in_mount) make_shown(directory, *what.target, "t");
    BOOST_TEST_CONTEXT(describe(what)) {
      BOOST_TEST(rename_in(mount.path(), what) == rename_in(model.path(), what));
      BOOST_TEST((shown(directory) == shown(model / what.directory)));
    }
  }
  const bool ended_well = mount.unmount().ok();
  BOOST_TEST(ended_well, mount.result().description() + mount.log());
  check_nothing_is_left_over(source.path());
  MountSettings read_only;
  read_only.options = {"ro"};
  Mount again(source.path(), read_only);
  for (const RenameCase& what : cases) BOOST_TEST_CONTEXT(describe(what))
  BOOST_TEST((shown(again / what.directory) == shown(model / what.directory)));
}

BOOST_AUTO_TEST_CASE(names_are_exchanged_where_both_fit, *precondition(needs_fuse)) {
  const TempDir source;
  for (const char* name : {"one", "two"}) {
    const Maker maker(source / name);
    maker.plain("a");
    maker.flat(std::string("a.b2frame") + (name[0] == 'o' ? ".b2frame" : ""));
  }
  Maker(source / "three").plain("a");
  Maker(source / "three").flat("a.b2");
  Mount mount(source.path());
  const auto exchange = [&](const fs_std::path& one, const fs_std::path& other) {
    return errno_of(renameat2(AT_FDCWD, (mount / one).c_str(), AT_FDCWD, (mount / other).c_str(),
                              RENAME_EXCHANGE));
  };
  // To be shown as "a", the frame would need the full name that the plain file is to get.
  const auto before = shown(mount.path());
  for (const char* directory : {"one", "two"}) {
    BOOST_TEST(exchange(fs_std::path(directory) / "a", fs_std::path(directory) / "a.b2frame") ==
               EEXIST);
    BOOST_TEST(exchange(fs_std::path(directory) / "a.b2frame", fs_std::path(directory) / "a") ==
               EEXIST);
  }
  BOOST_TEST((shown(mount.path()) == before));
  // Here the frame can use another suffix.
  const auto in_three = shown(mount / "three");
  BOOST_TEST(exchange("three/a", "three/a.b2") == 0);
  BOOST_TEST(shown(mount / "three").at("a") == in_three.at("a.b2"));
  BOOST_TEST(shown(mount / "three").at("a.b2") == in_three.at("a"));
  BOOST_TEST(mount.unmount().ok(), mount.log());
  check_nothing_is_left_over(source.path());
}

BOOST_AUTO_TEST_CASE(hard_link_takes_the_name_that_a_new_file_took_from_another,
                     *precondition(needs_fuse)) {
  const TempDir source;
  Maker(source.path()).flat("a.b2frame");
  fs_std::create_hard_link(source / "a.b2frame", source / "b.b2frame");
  Mount mount(source.path());
  write_text(mount / "new", "other text");
  BOOST_TEST(errno_of(rename((mount / "new").c_str(), (mount / "a").c_str())) == 0);
  BOOST_TEST(errno_of(rename((mount / "b").c_str(), (mount / "a").c_str())) == 0);
  BOOST_TEST(
      (shown(mount.path()) == std::map<std::string, std::string>{{"a", "file " + flat_text()}}));
  BOOST_TEST(mount.unmount().ok(), mount.log());
  check_nothing_is_left_over(source.path());
  BOOST_TEST(!fs_std::exists(source / "b.b2frame"));
}

BOOST_AUTO_TEST_CASE(file_stays_what_it_is_when_a_new_one_takes_one_of_its_names,
                     *precondition(needs_fuse)) {
  const TempDir source;
  Maker(source.path()).flat("a.b2frame");
  fs_std::create_hard_link(source / "a.b2frame", source / "b.b2frame");
  Mount mount(source.path());
  const Fd open_file(open((mount / "b").c_str(), O_PATH | O_CLOEXEC));
  write_text(mount / "new", "other text");
  BOOST_TEST(errno_of(rename((mount / "new").c_str(), (mount / "a").c_str())) == 0);
  const Fd directory(open(mount.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  BOOST_TEST(errno_of(fsync(directory.get())) == 0);
  const std::string path = "/proc/self/fd/" + std::to_string(open_file.get());
  BOOST_TEST(errno_of(linkat(AT_FDCWD, path.c_str(), AT_FDCWD, (mount / "c").c_str(),
                             AT_SYMLINK_FOLLOW)) == 0);
  BOOST_TEST(shown(mount.path()).at("c") == "file " + flat_text());
}

/// A program with an O_PATH descriptor calls fstat. The daemon does not know of that descriptor.
BOOST_AUTO_TEST_CASE(removed_file_keeps_its_size, *precondition(needs_fuse)) {
  const TempDir source;
  Maker(source.path()).flat("a.b2frame");
  Maker(source.path()).flat("b.b2frame");
  Mount mount(source.path());
  const auto size_of = [](const Fd& fd) {
    // Bypasses the kernel's attribute cache.
    struct statx st {};
    return ::statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &st) == 0
               ? static_cast<off_t>(st.stx_size)
               : -errno;
  };
  const Fd read(open((mount / "a").c_str(), O_PATH | O_CLOEXEC));
  BOOST_REQUIRE(::unlink((mount / "a").c_str()) == 0);
  const Fd written(open((mount / "b").c_str(), O_PATH | O_CLOEXEC));
  {
    const Fd writer(open((mount / "b").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    BOOST_REQUIRE(::unlink((mount / "b").c_str()) == 0);
    BOOST_REQUIRE(::write(writer.get(), "text", 4) == 4);
  }
  BOOST_TEST(size_of(read) == static_cast<off_t>(flat_text().size()));
  BOOST_TEST(size_of(written) == static_cast<off_t>(flat_text().size() + 4));
}

BOOST_AUTO_TEST_CASE(directory_goes_behind_the_sparse_frame_that_was_in_it,
                     *precondition(needs_fuse)) {
  const TempDir source;
  Cut cut;
  cut.chunksize = cut.blocksize = 64;
  for (char name = 'a'; name <= 'j'; ++name) {
    fs_std::create_directory(source.path() / std::string(1, name));
    write_sparse_frame(source.path() / std::string(1, name) / "s.b2frame", ByteVector(20000, 1),
                       cut);
  }
  Mount mount(source.path());
  std::minstd_rand random{1};
  for (char name = 'a'; name <= 'j'; ++name) {
    const fs_std::path directory = mount.path() / std::string(1, name);
    BOOST_TEST(errno_of(unlink((directory / "s").c_str())) == 0);
    // The daemon removes the frame's files in the background.
    pause_at_random(random, std::chrono::milliseconds(2));
    BOOST_TEST(errno_of(rmdir(directory.c_str())) == 0);
  }
}

BOOST_AUTO_TEST_CASE(files_are_found_while_names_above_and_beside_them_change,
                     *precondition(needs_fuse)) {
  const TempDir source;
  const Maker maker(source / "one");
  maker.flat("a.b2frame");
  maker.array("t.b2nd");
  maker.sparse("s.b2frame");
  maker.plain("p");
  Mount mount(source.path());
  Fd directory(open((mount / "one").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::atomic<int> not_renamed = 0, not_made = 0;  // Boost.Test checks are for one thread alone
  std::jthread renamer([&](const std::stop_token& end) {
    const std::string names[] = {mount / "one", mount / "two"};
    for (std::size_t turn = 0; !end.stop_requested(); turn++)
      not_renamed += rename(names[turn % 2].c_str(), names[1 - turn % 2].c_str()) != 0;
  });
  std::jthread maker_of_files([&](const std::stop_token& end) {
    for (int turn = 0; !end.stop_requested(); turn++) {
      const std::string name = "new" + std::to_string(turn % 5);
      const Fd file(openat(directory.get(), name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
      not_made += !file;
      renameat(directory.get(), name.c_str(), directory.get(), "other");
      unlinkat(directory.get(), "other", 0);
    }
  });
  std::map<std::string, int> failures;
  const auto note = [&failures](const std::string& what, bool ok) {
    if (!ok) failures[what + ": " + std::strerror(errno)]++;
  };
  for (int turn = 0; turn < 1500; turn++) {
    for (const char* name : {"a", "t.npy", "s", "p"}) {
      struct stat st {};
      note("stat", fstatat(directory.get(), name, &st, 0) == 0);
      const Fd file(openat(directory.get(), name, O_RDONLY | O_CLOEXEC));
      char byte = 0;
      note("open", static_cast<bool>(file));
      note("read", read(file.get(), &byte, 1) == 1);
    }
    if (turn % 10 != 0) continue;
    const Fd listed(openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    note("list", static_cast<bool>(listed));
  }
  for (std::jthread* each : {&renamer, &maker_of_files}) {
    each->request_stop();
    each->join();
  }
  BOOST_TEST(not_renamed == 0);
  BOOST_TEST(not_made == 0);
  directory = Fd();
  for (const auto& [what, count] : failures) BOOST_ERROR(what << " (" << count << " times)");
  BOOST_TEST(mount.unmount().ok(), mount.log());
  check_nothing_is_left_over(source.path());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
