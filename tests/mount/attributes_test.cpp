// Tests stat, statfs and extended attributes.

#include <cstdio>
#include <cstdlib>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kContents = 2000000;
constexpr std::int64_t kAllocationUnit = 4096;

struct stat stat_of(const fs_std::path& path) {
  struct stat st {};
  if (lstat(path.c_str(), &st) != 0) throw_errno("lstat " + path.string());
  return st;
}

/// needs_fuse(), and a temporary directory whose filesystem has user attributes.
Precondition needs_attributes(boost::unit_test::test_unit_id id) {
  const TempDir directory;
  write_file(directory / "a", "text");
  if (errno_of_set_xattr(directory / "a", "user.mine", "value") != 0)
    return skip("the temporary directory has no user attributes");
  return needs_fuse(id);
}

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/// Returns a frame with filters and metalayers of both kinds. One metalayer is too large for an
/// attribute.
ByteVector rich_frame() {
  Cut cut;
  cut.chunksize = 65536;
  cut.blocksize = 16384;
  cut.typesize = 4;
  cut.metalayers = {{"fixed", bytes_of(std::string("\0binary\xff", 8))}, {"empty", {}}};
  cut.vlmetalayers = {{"note", bytes_of("variable")},
                      {"huge", ByteVector(65537, 1)},
                      {"large", ByteVector(60000, 2)}};
  auto bytes = flat_frame(make_contents("text", 1, kContents, 1), cut);
  constexpr std::size_t kFilters = 0x47, kFiltersMeta = 0x4f;
  bytes[kFilters] = 4;
  bytes[kFiltersMeta] = 10;
  bytes[kFilters + 5] = 1;
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(attributes)

BOOST_AUTO_TEST_CASE(stat_shows_the_source_with_the_shown_size, *precondition(needs_fuse)) {
  const TempDir source;
  const auto contents = make_contents("text", 1, kContents, 1);
  write_file(source / "a.b2frame", flat_frame(contents));
  write_sparse_frame(source / "s.b2frame", contents);
  chmod((source / "a.b2frame").c_str(), 0640);
  chmod((source / "s.b2frame/chunks.b2frame").c_str(), 0604);
  const timespec times[2] = {{1000000001, 123456789}, {1000000002, 987654321}};
  utimensat(AT_FDCWD, (source / "a.b2frame").c_str(), times, 0);
  Mount mount(source.path());
  for (const auto& [name, stored_in] :
       {std::pair{"a", "a.b2frame"}, {"s", "s.b2frame/chunks.b2frame"}}) {
    const auto shown = stat_of(mount / name), stored = stat_of(source / stored_in);
    BOOST_TEST(shown.st_size == static_cast<off_t>(kContents), name);
    BOOST_TEST((shown.st_mode & 07777) == (stored.st_mode & 07777), name);
    BOOST_TEST(S_ISREG(shown.st_mode), name);
    BOOST_TEST(shown.st_uid == stored.st_uid, name);
    BOOST_TEST(same_time(shown.st_mtim, stored.st_mtim), name);
    BOOST_TEST(same_time(shown.st_ctim, stored.st_ctim), name);
  }
}

BOOST_AUTO_TEST_CASE(blocks_count_stored_bytes, *precondition(needs_fuse)) {
  const TempDir source;
  const auto contents = make_contents("text", 1, kContents, 1);
  write_file(source / "a.b2frame", flat_frame(contents));
  write_sparse_frame(source / "s.b2frame", contents);
  write_file(source / "plain", contents);
  std::int64_t in_sframe = 0, files = 0;
  for (const auto& entry : fs_std::directory_iterator(source / "s.b2frame")) {
    in_sframe += static_cast<std::int64_t>(entry.file_size());
    ++files;
  }
  const auto in_cframe = static_cast<std::int64_t>(fs_std::file_size(source / "a.b2frame"));
  BOOST_TEST(in_cframe < static_cast<std::int64_t>(kContents / 2));
  Mount mount(source.path());
  const auto shown_bytes = [&mount](const char* name) {
    return std::int64_t{stat_of(mount / name).st_blocks} * 512;
  };
  BOOST_TEST(std::abs(shown_bytes("a") - in_cframe) <= kAllocationUnit);
  BOOST_TEST(std::abs(shown_bytes("s") - in_sframe) <= kAllocationUnit * files);
  BOOST_TEST(std::abs(shown_bytes("plain") - static_cast<std::int64_t>(kContents)) <=
             kAllocationUnit);
}

BOOST_AUTO_TEST_CASE(inode_numbers_survive_remounts_and_join_hard_links,
                     *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(std::string("one")));
  write_file(source / "other.b2frame", flat_frame(std::string("two")));
  write_file(source / "plain", "three");
  write_sparse_frame(source / "s.b2frame", bytes_of("four"));
  fs_std::create_hard_link(source / "a.b2frame", source / "b.b2frame");
  std::vector<ino_t> before, after;
  for (auto* numbers : {&before, &after}) {
    Mount mount(source.path());
    for (const char* name : {"a", "b", "other", "plain", "s"})
      numbers->push_back(stat_of(mount / name).st_ino);
  }
  BOOST_TEST(before == after, boost::test_tools::per_element());
  BOOST_TEST(before[0] == before[1]);
  BOOST_TEST(std::set<ino_t>(before.begin(), before.end()).size() == 4u);
}

BOOST_AUTO_TEST_CASE(computed_attributes_of_a_flat_frame, *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "a.b2frame", rich_frame());
  Mount mount(source.path());
  const auto path = mount / "a";
  const std::map<std::string, std::string> expected{{"codec", "lz4"},
                                                    {"clevel", "5"},
                                                    {"filters", "trunc_prec:10,shuffle"},
                                                    {"typesize", "4"},
                                                    {"chunksize", "65536"},
                                                    {"blocksize", "16384"},
                                                    {"nbytes", "2000000"},
                                                    {"nchunks", "31"},
                                                    {"meta.fixed", std::string("\0binary\xff", 8)},
                                                    {"meta.empty", ""},
                                                    {"vlmeta.note", "variable"}};
  const auto listed = list_xattrs(path);
  for (const auto& [name, value] : expected) {
    const std::string full = "user.blosc2." + name;
    const bool is_metalayer = name.find("meta.") != std::string::npos;
    BOOST_TEST(listed.count(full) == (is_metalayer ? 1u : 0u), full);
    BOOST_CHECK_MESSAGE(get_xattr(path, full) == value,
                        full << " is " << get_xattr(path, full).value_or("absent"));
  }
  BOOST_TEST(std::stoll(get_xattr(path, "user.blosc2.cbytes").value_or("0")) > 0);
  BOOST_TEST(listed.count("user.blosc2.shape") == 0u);
  BOOST_CHECK(!get_xattr(path, "user.blosc2.dtype"));
  BOOST_CHECK(!get_xattr(path, "user.blosc2.meta.absent"));
}

BOOST_AUTO_TEST_CASE(computed_attributes_of_an_array, *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "t.b2nd", array_frame(ByteVector(60, 3), {3, 5}, "<i4", 4));
  Mount mount(source.path());
  for (const auto& [name, value] : {std::pair{"shape", "3,5"},
                                    {"chunkshape", "3,5"},
                                    {"blockshape", "3,5"},
                                    {"dtype", "<i4"},
                                    {"nbytes", "60"}})
    BOOST_CHECK_MESSAGE(get_xattr(mount / "t.npy", std::string("user.blosc2.") + name) == value,
                        name);
}

BOOST_AUTO_TEST_CASE(large_metalayers_are_unlisted_and_too_big, *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "a.b2frame", rich_frame());
  Mount mount(source.path());
  const auto listed = list_xattrs(mount / "a");
  BOOST_TEST(listed.count("user.blosc2.vlmeta.huge") == 0u);
  BOOST_TEST(listed.count("user.blosc2.vlmeta.large") == 1u);
  BOOST_TEST(errno_of_get_xattr(mount / "a", "user.blosc2.vlmeta.huge") == E2BIG);
  BOOST_TEST(get_xattr(mount / "a", "user.blosc2.vlmeta.large")->size() == 60000u);
  BOOST_TEST(errno_of_get_xattr(mount / "a", "user.blosc2.vlmeta.large") == ERANGE);
}

BOOST_AUTO_TEST_CASE(attributes_of_the_source_pass_through, *precondition(needs_attributes)) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(std::string("text")));
  write_file(source / "plain", "text");
  for (const char* name : {"a.b2frame", "plain"})
    BOOST_REQUIRE(errno_of_set_xattr(source / name, "user.mine", "value") == 0);
  const bool trusted = errno_of_set_xattr(source / "plain", "trusted.mine", "root's") == 0;
  MountSettings settings;
  settings.options = {"trusted_xattrs"};
  Mount mount(source.path(), settings);
  for (const char* name : {"a", "plain"}) {
    BOOST_CHECK(get_xattr(mount / name, "user.mine") == "value");
    BOOST_TEST(list_xattrs(mount / name).count("user.mine") == 1u);
    BOOST_TEST(errno_of_get_xattr(mount / name, "security.selinux") == EOPNOTSUPP);
    BOOST_TEST(errno_of_get_xattr(mount / name, "system.posix_acl_access") == ENODATA);
  }
  if (trusted) BOOST_CHECK(get_xattr(mount / "plain", "trusted.mine") == "root's");
  BOOST_CHECK(!get_xattr(mount / "plain", "user.blosc2.codec"));
}

BOOST_AUTO_TEST_CASE(long_attributes_and_lists_of_the_source_pass_through_whole,
                     *precondition(needs_attributes)) {
  const TempDir source;
  write_file(source / "plain", "text");
  std::set<std::string> names;
  for (int i = 0; i < 8; i++) {
    names.insert("user." + std::string(100, static_cast<char>('a' + i)));
    BOOST_REQUIRE(errno_of_set_xattr(source / "plain", *names.rbegin(), std::string(300, 'v')) ==
                  0);
  }
  const Mount mount(source.path());
  BOOST_TEST(list_xattrs(mount / "plain") == names);
  for (const std::string& name : names)
    BOOST_CHECK(get_xattr(mount / "plain", name) == std::string(300, 'v'));
}

BOOST_AUTO_TEST_CASE(plain_file_that_becomes_a_frame_gets_a_frames_attributes,
                     *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "p", "plain");
  Mount mount(source.path());
  const ByteVector frame = flat_frame(std::string("inner"));
  {
    const Fd reader(open((mount / "p").c_str(), O_RDONLY | O_CLOEXEC));
    write_file(mount / "p", frame);
    ByteVector bytes(frame.size());
    BOOST_TEST(pread(reader.get(), bytes.data(), bytes.size(), 0) == std::ssize(frame));
    BOOST_CHECK(bytes == frame);
    BOOST_TEST(!get_xattr(mount / "p", "user.blosc2.codec").has_value());
  }
  // The daemon converts the file after the last close.
  BOOST_TEST(comes_true([&] { return read_file(source / "p") != frame; }));
  BOOST_TEST(get_xattr(mount / "p", "user.blosc2.codec").has_value());
}

BOOST_AUTO_TEST_CASE(statistics_are_an_object_of_integers_on_the_root, *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(std::string(5000, 'x')));
  Mount mount(source.path());
  read_file(mount / "a");
  const auto stats = mount.stats();
  for (const char* name :
       {"cache_hits", "cache_misses", "cache_bytes", "cache_evictions", "blocks_decoded",
        "index_blocks_decoded", "chunks_opened", "source_reads", "source_bytes_read",
        "contents_bytes_read", "readahead_blocks", "dirty_bytes", "commits", "commit_failures",
        "checksum_failures", "io_errors", "budget_bytes"})
    BOOST_TEST((stats.contains(name) && stats.at(name).is_number_integer()), name);
  BOOST_TEST(stats.at("blocks_decoded").get<int>() == 1);
  BOOST_TEST(stats.at("contents_bytes_read").get<int>() == 5000);
  BOOST_TEST(stats.at("budget_bytes").get<int>() >= stats.at("cache_bytes").get<int>());
  BOOST_TEST(get_xattr(mount.path(), "user.bloscfs.stats")->find('\n') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(statfs_tells_of_the_filesystem_that_holds_source, *precondition(needs_fuse)) {
  const TempDir source;
  Mount mount(source.path());
  struct statvfs shown {
  }, stored{};
  BOOST_TEST(statvfs(mount.path().c_str(), &shown) == 0);
  BOOST_TEST(statvfs(source.path().c_str(), &stored) == 0);
  BOOST_TEST(shown.f_frsize > 0u);
  BOOST_TEST(shown.f_blocks * shown.f_frsize == stored.f_blocks * stored.f_frsize);
  BOOST_TEST(shown.f_namemax == stored.f_namemax);
}

BOOST_AUTO_TEST_CASE(changing_a_read_only_mount_is_refused, *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(std::string("text")));
  write_file(source / "plain", "text");
  MountSettings settings;
  settings.options = {"ro"};
  Mount mount(source.path(), settings);
  const auto at = [&mount](const char* name) { return (mount / name).string(); };
  for (const char* name : {"a", "plain"}) {
    BOOST_TEST(errno_of(open(at(name).c_str(), O_WRONLY)) == EROFS);
    BOOST_TEST(errno_of(open(at(name).c_str(), O_RDWR)) == EROFS);
    BOOST_TEST(errno_of(truncate(at(name).c_str(), 1)) == EROFS);
    BOOST_TEST(errno_of(unlink(at(name).c_str())) == EROFS);
    BOOST_TEST(errno_of(chmod(at(name).c_str(), 0600)) == EROFS);
    BOOST_TEST(errno_of(rename(at(name).c_str(), at("moved").c_str())) == EROFS);
    BOOST_TEST(errno_of_set_xattr(mount / name, "user.x", "y") == EROFS);
  }
  BOOST_TEST(errno_of(open(at("new").c_str(), O_CREAT | O_WRONLY, 0600)) == EROFS);
  BOOST_TEST(errno_of(mkdir(at("d").c_str(), 0700)) == EROFS);
  BOOST_TEST(errno_of(symlink("x", at("l").c_str())) == EROFS);
  BOOST_TEST((read_file(source / "plain") == bytes_of("text")));
  BOOST_TEST(std::distance(fs_std::directory_iterator(source.path()), {}) == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
