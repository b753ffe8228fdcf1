// Metalayers as extended attributes: which are listed, set and refused, and how programs that copy
// files handle them.

#include <cerrno>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using nlohmann::json;

const std::string kFixedNote = "user.blosc2.meta.mine", kVariableNote = "user.blosc2.vlmeta.note";

int errno_of_dropping(const fs_std::path& path, const std::string& name) {
  return errno_of(lremovexattr(path.c_str(), name.c_str()));
}

std::string small_npy() { return npy_header("<i4", {64, 32}) + std::string(64 * 32 * 4, 'e'); }

/// Makes frames of each kind with metalayers, some of which are not listed.
void fill_with_metalayers(const fs_std::path& source) {
  Cut cut;
  cut.metalayers = {{"mine", bytes_of("fixed")}, {"b2tree", bytes_of("kind")}};
  cut.vlmetalayers = {{"note", bytes_of("variable")},
                      {"bloscfs.xxh3", ByteVector(8)},
                      {"blosc2_indexes", {0x80}}};  // an empty map
  const ByteVector contents = make_contents("text", 1, 30000, 1);
  write_file(source / "flat.b2frame", flat_frame(contents, cut));
  write_sparse_frame(source / "sparse.b2frame", contents, cut);
  Cut array = array_cut({3, 5}, "<i4", 4);
  array.metalayers.insert(array.metalayers.end(), cut.metalayers.begin(), cut.metalayers.end());
  array.vlmetalayers = cut.vlmetalayers;
  write_file(source / "array.b2nd", flat_frame(ByteVector(60, 3), array));
}

const std::vector<std::string> kFrames = {"flat", "sparse", "array.npy"};

void check_metalayers(const fs_std::path& directory) {
  for (const std::string& name : kFrames) {
    const std::string path = directory / name;
    BOOST_TEST_CONTEXT(path) {
      BOOST_TEST(list_xattrs(path) == (std::set<std::string>{kFixedNote, kVariableNote}),
                 boost::test_tools::per_element());
      BOOST_TEST(get_xattr(path, kFixedNote).value_or("") == "fixed");
      BOOST_TEST(get_xattr(path, kVariableNote).value_or("") == "variable");
    }
  }
}

/// Checks that a program succeeds and prints no warning about attributes that it could not copy.
void check_silent(const Arguments& command) {
  const ProcessResult result = run(command);
  BOOST_TEST(result.ok(), command.front() << ": " << result.description());
  BOOST_TEST(result.err == "", command.front());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(metalayers)

BOOST_AUTO_TEST_CASE(what_would_be_false_in_a_copy_is_read_by_name_but_not_listed,
                     *precondition(needs_fuse)) {
  const TempDir source;
  fill_with_metalayers(source.path());
  Mount mount(source.path());
  check_metalayers(mount.path());
  for (const std::string& name : kFrames) {
    const fs_std::path path = mount / name;
    for (const auto& [attribute, value] : {std::pair{"user.blosc2.meta.b2tree", "kind"},
                                           {"user.blosc2.vlmeta.blosc2_indexes", "\x80"},
                                           {"user.blosc2.json.blosc2_indexes", "{}"}}) {
      BOOST_TEST_CONTEXT(name << " " << attribute) {
        BOOST_TEST(get_xattr(path, attribute).value_or("") == value);
        BOOST_TEST(errno_of_set_xattr(path, attribute, value) == 0);
        BOOST_TEST(errno_of_set_xattr(path, attribute, "other") == EPERM);
        BOOST_TEST(errno_of_dropping(path, attribute) == EPERM);
      }
    }
    for (const char* attribute : {"user.blosc2.vlmeta.bloscfs.xxh3", "user.blosc2.meta.vlarray",
                                  "user.blosc2.meta.b2nd", "user.blosc2.meta.caterva"})
      BOOST_TEST(errno_of_set_xattr(path, attribute, "other") == EPERM, attribute);
  }
  BOOST_TEST(list_xattrs(mount.path()).empty());
  BOOST_TEST(mount.counter("commits") == 0u);
}

BOOST_AUTO_TEST_CASE(fixed_metalayers_are_set_and_removed, *precondition(needs_fuse)) {
  const TempDir source;
  fill_with_metalayers(source.path());
  const ByteVector contents = make_contents("text", 1, 30000, 1);
  const std::string binary("\0\xff\n", 3);
  {
    Mount mount(source.path());
    for (const std::string& name : kFrames) {
      const fs_std::path path = mount / name;
      BOOST_TEST_CONTEXT(name) {
        BOOST_TEST(errno_of_set_xattr(path, kFixedNote, std::string(9000, 'm')) == 0);
        BOOST_TEST(errno_of_set_xattr(path, "user.blosc2.meta.binary", binary) == 0);
        BOOST_TEST(errno_of_set_xattr(path, "user.blosc2.meta.empty", "") == 0);
        BOOST_TEST(errno_of(lsetxattr(path.c_str(), kFixedNote.c_str(), "x", 1, XATTR_CREATE)) ==
                   EEXIST);
        BOOST_TEST(errno_of(lsetxattr(path.c_str(), "user.blosc2.meta.none", "x", 1,
                                      XATTR_REPLACE)) == ENODATA);
        BOOST_TEST(errno_of_dropping(path, "user.blosc2.meta.none") == ENODATA);
        BOOST_TEST(errno_of_set_xattr(path, "user.blosc2.meta." + std::string(32, 'n'), "") ==
                   EINVAL);
        BOOST_TEST(errno_of_set_xattr(path, "user.blosc2.vlmeta." + std::string(32, 'n'), "") ==
                   EINVAL);
        BOOST_TEST(list_xattrs(path).count("user.blosc2.meta.binary") == 1u);
      }
    }
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  {
    Mount mount(source.path());
    for (const std::string& name : kFrames) {
      BOOST_TEST(get_xattr(mount / name, kFixedNote).value_or("") == std::string(9000, 'm'));
      BOOST_TEST(get_xattr(mount / name, "user.blosc2.meta.binary").value_or("") == binary);
      BOOST_TEST(get_xattr(mount / name, "user.blosc2.meta.empty").value_or("-") == "");
      BOOST_TEST(get_xattr(mount / name, "user.blosc2.meta.b2tree").value_or("") == "kind");
      BOOST_TEST(get_xattr(mount / name, kVariableNote).value_or("") == "variable");
      for (const char* gone : {"binary", "empty"})
        BOOST_TEST(errno_of_dropping(mount / name, std::string("user.blosc2.meta.") + gone) == 0);
      BOOST_TEST(errno_of_set_xattr(mount / name, kFixedNote, "fixed") == 0);
    }
    BOOST_CHECK(read_file(mount / "flat") == contents);
    BOOST_CHECK(read_file(mount / "sparse") == contents);
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  Mount mount(source.path());
  check_metalayers(mount.path());
  BOOST_CHECK(read_file(mount / "flat") == contents);
  BOOST_CHECK(read_file(mount / "sparse") == contents);
}

// A longer header moves the chunks, even those that a reader has already used.
BOOST_AUTO_TEST_CASE(readers_go_on_in_a_frame_whose_header_is_written_anew,
                     *precondition(needs_fuse)) {
  const TempDir source;
  const ByteVector contents = make_contents("noise", 1, 300000, 1);
  write_file(source / "f.b2frame", flat_frame(contents));
  Mount mount(source.path());
  const Fd file(open((mount / "f").c_str(), O_RDWR | O_DIRECT | O_CLOEXEC));
  ByteVector bytes(4096);
  for (std::size_t offset = 0; offset + 4096 < contents.size(); offset += 65536)
    BOOST_TEST(pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) == 4096);
  BOOST_TEST(errno_of_set_xattr(mount / "f", kFixedNote, std::string(9000, 'm')) == 0);
  BOOST_TEST(errno_of(fsync(file.get())) == 0);
  BOOST_TEST(mount.counter("commits") == 1u);
  for (std::size_t offset = 0; offset + 4096 < contents.size(); offset += 20480) {
    BOOST_TEST(pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) == 4096);
    BOOST_TEST(std::equal(bytes.begin(), bytes.end(),
                          contents.begin() + static_cast<std::ptrdiff_t>(offset)),
               offset);
  }
}

BOOST_AUTO_TEST_CASE(more_metalayers_than_a_header_holds_are_refused_when_they_are_set,
                     *precondition(needs_fuse)) {
  const TempDir source;
  Mount mount(source.path());
  const std::string npy = small_npy();
  write_file(mount / "x.npy", npy);
  const auto set = [&](int number) {
    return errno_of_set_xattr(mount / "x.npy", "user.blosc2.meta." + std::to_string(number), "x");
  };
  for (int i = 0; i < 16; i++) BOOST_TEST(set(i) == 0);
  BOOST_TEST(set(16) == ENOSPC);
  BOOST_TEST(mount.unmount().ok(), mount.log());
  // The array's own metalayer would be the 17th, so the file stays a flat frame.
  BOOST_TEST(fs_std::exists(source / "x.npy.b2frame"));
  Mount again(source.path());
  BOOST_CHECK(read_file(again / "x.npy") == bytes_of(npy));
  BOOST_TEST(list_xattrs(again / "x.npy").size() == 16u);
}

BOOST_AUTO_TEST_CASE(a_file_that_was_never_committed_has_attributes, *precondition(needs_fuse)) {
  const TempDir source;
  Mount mount(source.path());
  const fs_std::path path = mount / "new";
  const Fd file(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  BOOST_TEST(get_xattr(path, "user.blosc2.codec").value_or("") == "zstd");
  BOOST_TEST(get_xattr(path, "user.blosc2.nbytes").value_or("") == "0");
  BOOST_TEST(write(file.get(), "12345", 5) == 5);
  BOOST_TEST(get_xattr(path, "user.blosc2.nbytes").value_or("") == "5");
  BOOST_TEST(get_xattr(path, "user.blosc2.typesize").value_or("") == "1");
  BOOST_CHECK(!get_xattr(path, "user.blosc2.shape"));
  BOOST_TEST(errno_of_set_xattr(path, "user.blosc2.nbytes", "5") == 0);
  BOOST_TEST(errno_of_set_xattr(path, "user.blosc2.nbytes", "6") == EPERM);
  BOOST_TEST(errno_of_set_xattr(path, kFixedNote, "fixed") == 0);
  BOOST_TEST(errno_of_set_xattr(path, kVariableNote, "variable") == 0);
  BOOST_TEST(list_xattrs(path) == (std::set<std::string>{kFixedNote, kVariableNote}),
             boost::test_tools::per_element());
  BOOST_TEST(get_xattr(path, kFixedNote).value_or("") == "fixed");
  write_file(mount / "a.npy", small_npy());
  // The kernel reports the last close a moment after it.
  BOOST_TEST(
      comes_true([&] { return get_xattr(mount / "a.npy", "user.blosc2.shape") == "64,32"; }));
  BOOST_TEST(mount.counter("commits") == 0u);
}

// The daemon stages the file before it gets a metalayer, so the header has to move later.
BOOST_AUTO_TEST_CASE(large_new_files_take_metalayers_while_they_are_written,
                     *precondition(needs_fuse)) {
  const TempDir source;
  const ByteVector contents = make_contents("noise", 1, 5000001, 1);
  MountSettings settings;
  settings.options = {"cache_size=8M", "dirty_limit=1M"};
  {
    Mount mount(source.path(), settings);
    const fs_std::path path = mount / "large";
    const Fd file(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0640));
    const std::size_t half = contents.size() / 2;
    BOOST_TEST(write(file.get(), contents.data(), half) == static_cast<ssize_t>(half));
    BOOST_TEST(errno_of_set_xattr(path, kFixedNote, "first") == 0);
    BOOST_TEST(write(file.get(), contents.data() + half, contents.size() - half) ==
               static_cast<ssize_t>(contents.size() - half));
    BOOST_TEST(errno_of_set_xattr(path, kFixedNote, "a longer one") == 0);
    BOOST_TEST(errno_of(fsync(file.get())) == 0);
    struct stat st {};
    BOOST_TEST(errno_of(stat(path.c_str(), &st)) == 0);
    BOOST_TEST((st.st_mode & 07777) == 0640u);
    BOOST_TEST(st.st_size == std::ssize(contents));
  }
  Mount again(source.path());
  BOOST_TEST(get_xattr(again / "large", kFixedNote).value_or("") == "a longer one");
  BOOST_CHECK(read_file(again / "large") == contents);
}

BOOST_AUTO_TEST_CASE(hard_links_and_other_headers_exclude_each_other, *precondition(needs_fuse)) {
  const TempDir source;
  fill_with_metalayers(source.path());
  Mount mount(source.path());
  BOOST_TEST(errno_of_set_xattr(mount / "flat", kFixedNote, "changed") == 0);
  BOOST_TEST(errno_of(link((mount / "flat").c_str(), (mount / "other").c_str())) == 0);
  BOOST_TEST(errno_of_set_xattr(mount / "flat", kFixedNote, "again") == EOPNOTSUPP);
  BOOST_TEST(errno_of_set_xattr(mount / "flat", kVariableNote, "again") == 0);
  BOOST_TEST(mount.unmount().ok(), mount.log());
  Mount again(source.path());
  BOOST_TEST(get_xattr(again / "other", kFixedNote).value_or("") == "changed");
  BOOST_TEST(get_xattr(again / "other", kVariableNote).value_or("") == "again");
}

BOOST_AUTO_TEST_CASE(vlmetalayers_are_read_and_written_as_json, *precondition(needs_fuse)) {
  const TempDir source;
  fill_with_metalayers(source.path());
  Mount mount(source.path());
  const std::string name = "user.blosc2.json.facts";
  const json facts = {{"list", {1, 2.5, true, nullptr}}, {"text", "\u00e9\n"}};
  for (const std::string& file : kFrames) {
    const fs_std::path path = mount / file;
    BOOST_TEST_CONTEXT(file) {
      BOOST_CHECK(!get_xattr(path, name));
      BOOST_TEST(errno_of_set_xattr(path, name, facts.dump(2)) == 0);
      const std::string text = get_xattr(path, name).value_or("");
      BOOST_TEST(json::parse(text) == facts);
      BOOST_TEST(text.find('\n') == std::string::npos);
      const std::string stored = get_xattr(path, "user.blosc2.vlmeta.facts").value_or("");
      BOOST_TEST(json::from_msgpack(stored) == facts);
      BOOST_TEST(list_xattrs(path).count(name) == 0u);
      for (const char* wrong : {"", "text", "{", "{\"hex\":\"00\"}"})
        BOOST_TEST(errno_of_set_xattr(path, name, wrong) == EINVAL, wrong);
      BOOST_TEST(errno_of(lsetxattr(path.c_str(), name.c_str(), "1", 1, XATTR_CREATE)) == EEXIST);
      BOOST_TEST(get_xattr(path, "user.blosc2.json.note").value_or("") == "\"variable\"");
      BOOST_TEST(errno_of_set_xattr(path, "user.blosc2.vlmeta.raw", "\xc4\x02\x01\xff") == 0);
      BOOST_TEST(get_xattr(path, "user.blosc2.json.raw").value_or("") == "{\"hex\":\"01ff\"}");
      BOOST_TEST(errno_of_dropping(path, name) == 0);
      BOOST_CHECK(!get_xattr(path, "user.blosc2.vlmeta.facts"));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_read_only_mount_changes_no_metalayers, *precondition(needs_fuse)) {
  const TempDir source;
  fill_with_metalayers(source.path());
  MountSettings settings;
  settings.options = {"ro"};
  Mount mount(source.path(), settings);
  for (const char* name : {"user.blosc2.meta.mine", "user.blosc2.json.x", "user.blosc2.codec"}) {
    BOOST_TEST(errno_of_set_xattr(mount / "flat", name, "1") == EROFS);
    BOOST_TEST(errno_of_dropping(mount / "flat", name) == EROFS);
  }
}

BOOST_AUTO_TEST_CASE(copies_in_all_directions_carry_metalayers_silently,
                     *precondition(needs_programs("rsync cp mv tar"))) {
  const TempDir one, two, outside;
  fill_with_metalayers(one.path());
  write_file(outside / "probe", "");
  BOOST_REQUIRE(errno_of_set_xattr(outside / "probe", "user.x", "y") == 0);
  Mount from(one.path()), to(two.path());
  const std::string in = from.path().string() + "/";
  for (int i = 0; i < 2; i++) {
    check_silent({"rsync", "-aX", in, outside / "rsync/"});
    check_silent({"rsync", "-aX", outside.path().string() + "/rsync/", to / "back/"});
    check_silent({"rsync", "-aX", in, to / "between/"});
    check_silent({"cp", "-r", "--preserve=all", in + ".", to / "between"});
  }
  check_silent({"cp", "-r", "--preserve=all", from.path(), to / "cp"});
  check_silent({"cp", "-a", to / "cp", to / "within"});
  check_silent({"cp", "-a", to / "cp", to / "moving"});
  check_silent({"mv", to / "moving", from / "moved"});
  check_silent({"tar", "--xattrs", "-cf", outside / "t.tar", "-C", to / "cp", "."});
  fs_std::create_directory(to / "tar");
  check_silent(
      {"tar", "--xattrs", "--xattrs-include=*", "-xf", outside / "t.tar", "-C", to / "tar"});
  const std::vector<fs_std::path> copies = {outside / "rsync", to / "back",   to / "between",
                                            to / "cp",         to / "within", to / "tar",
                                            from / "moved"};
  for (const auto& copy : copies) check_metalayers(copy);
  BOOST_TEST(to.unmount().ok(), to.log());
  BOOST_TEST(fs_std::exists(two / "tar/array.b2nd"));
  Mount again(two.path());
  for (const char* copy : {"back", "between", "cp", "within", "tar"}) {
    check_metalayers(again / copy);
    for (const std::string& name : kFrames)
      BOOST_CHECK(read_file(again / copy / name) == read_file(from / name));
  }
}

BOOST_AUTO_TEST_CASE(attributes_that_were_listed_are_read_without_the_source,
                     *precondition(needs_fuse)) {
  const TempDir source;
  fill_with_metalayers(source.path());
  Mount mount(source.path());
  for (const std::string& name : kFrames) list_xattrs(mount / name);
  const auto reads = mount.counter("source_reads");
  for (int i = 0; i < 3; i++) {
    check_metalayers(mount.path());
    for (const std::string& name : kFrames)
      for (const char* attribute : {"user.blosc2.codec", "user.blosc2.nbytes",
                                    "user.blosc2.json.note", "user.blosc2.vlmeta.blosc2_indexes"})
        BOOST_CHECK(get_xattr(mount / name, attribute));
  }
  BOOST_TEST(mount.counter("source_reads") == reads);
}

BOOST_AUTO_TEST_CASE(copying_frames_without_metalayers_reads_nothing_for_attributes,
                     *precondition(needs_programs("rsync cp"))) {
  const TempDir source, outside;
  for (int i = 0; i < 100; i++)
    write_file(source / ("f" + std::to_string(i) + ".b2frame"), flat_frame(std::string(3000, 'x')));
  const auto reads_of = [&](const Arguments& command) {
    MountSettings settings;
    settings.options = {"ro"};
    Mount mount(source.path(), settings);
    Arguments arguments = command;
    arguments.push_back(mount.path().string() + "/.");
    arguments.push_back(outside / std::to_string(std::rand()));
    BOOST_TEST(run(arguments).ok());
    return mount.counter("source_reads");
  };
  BOOST_TEST(reads_of({"rsync", "-aX"}) == reads_of({"rsync", "-a"}));
  BOOST_TEST(reads_of({"cp", "-a"}) == reads_of({"cp", "-r"}));
}

BOOST_AUTO_TEST_CASE(listing_again_after_a_change_shows_it, *precondition(needs_fuse)) {
  const TempDir source;
  fill_with_metalayers(source.path());
  Mount mount(source.path());
  check_metalayers(mount.path());
  const Fd file(open((mount / "flat").c_str(), O_RDWR | O_CLOEXEC));
  for (int i = 0; i < 5; i++) {
    const std::string value = "value" + std::to_string(i);
    BOOST_TEST(errno_of_set_xattr(mount / "flat", kVariableNote, value) == 0);
    BOOST_TEST(get_xattr(mount / "flat", kVariableNote).value_or("") == value);
    BOOST_TEST(errno_of(fsync(file.get())) == 0);
    BOOST_TEST(get_xattr(mount / "flat", kVariableNote).value_or("") == value);
  }
  BOOST_TEST(errno_of_dropping(mount / "flat", kVariableNote) == 0);
  BOOST_TEST(errno_of(fsync(file.get())) == 0);
  BOOST_TEST(list_xattrs(mount / "flat") == std::set<std::string>{kFixedNote},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
