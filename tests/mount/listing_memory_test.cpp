// Listings stay within the memory that cache_size gives them, whatever stores and directories hold.
// The daemon refuses only the store or directory whose listing does not fit.

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/proc.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::uint64_t kListingCache = std::uint64_t{8} << 20;
constexpr std::uint64_t kBesidesListings = std::uint64_t{48} << 20;

MountSettings with_listing_cache() {
  MountSettings settings;
  settings.options = {"cache_size=8M"};
  return settings;
}

void check_listing_memory(const Mount& mount) {
  const std::uint64_t most = process_memory(mount.pid(), "VmHWM");
  BOOST_TEST_MESSAGE((most >> 10) << " KiB at most");
  BOOST_TEST(most <= kListingCache + kBesidesListings, (most >> 20) << " MiB");
}

void append_text(ByteVector& out, const std::string& text) {
  BOOST_TEST_REQUIRE(text.size() < 32);
  out.push_back(static_cast<std::uint8_t>(0xa0 + text.size()));
  out.insert(out.end(), text.begin(), text.end());
}

void append_map_size(ByteVector& out, std::size_t count) {
  out.push_back(0xdf);
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<std::uint8_t>(count >> shift));
}

/// Returns the frame of a store whose map has `count` keys: "/k0000000", "/k0000001" and so on.
ByteVector store_with_keys(std::size_t count) {
  ByteVector map{0x81};
  append_text(map, "embed_map");
  append_map_size(map, count);
  for (std::size_t i = 0; i < count; i++) {
    std::string number = std::to_string(i);
    append_text(map, "/k" + std::string(7 - number.size(), '0') + number);
    map.push_back(0x82);
    append_text(map, "offset");
    map.push_back(0);
    append_text(map, "length");
    map.push_back(1);
  }
  Cut cut;
  cut.metalayers = {{"b2embed", {0x81, 0xa7, 'v', 'e', 'r', 's', 'i', 'o', 'n', 1}}};
  cut.vlmetalayers = {{"estore_metadata", map}};
  return flat_frame(ByteVector(64, 7), cut);
}

/// A map of this many keys takes a little less than 16 MiB. A larger map is refused for its size.
constexpr std::size_t kManyKeys = 620'000;

std::vector<std::string> make_six_stores(const SourceDir& source) {
  const ByteVector large = store_with_keys(kManyKeys);
  std::vector<std::string> stores;
  for (int i = 0; i < 6; i++) {
    stores.push_back("s" + std::to_string(i));
    const fs_std::path path = source / (stores.back() + (i % 2 == 0 ? ".b2e" : ".b2d"));
    if (i % 2 != 0) fs_std::create_directory(path);
    write_file(i % 2 == 0 ? path : path / "embed.b2e", large);
  }
  return stores;
}

void put_number(ByteVector& out, std::uint64_t value, int size) {
  for (; size > 0; size--, value >>= 8) out.push_back(static_cast<std::uint8_t>(value));
}

void put_text(ByteVector& out, const std::string& text) {
  out.insert(out.end(), text.begin(), text.end());
}

/// Writes the fields that central directory entries and local headers share.
void put_member(ByteVector& out, const std::string& name, std::size_t size) {
  put_number(out, 0, 2);  // compression method
  put_number(out, 0, 4);  // time, date
  put_number(out, 0, 4);  // CRC-32
  put_number(out, size, 4);
  put_number(out, size, 4);
  put_number(out, name.size(), 2);
  put_number(out, 0, 2);
}

void put_entry(ByteVector& out, const std::string& name, std::size_t size) {
  put_text(out, "PK\1\2");
  put_number(out, 20, 2);
  put_number(out, 20, 2);
  put_number(out, 0, 2);  // flags
  put_member(out, name, size);
  put_number(out, 0, 2 + 2 + 2 + 4 + 4);  // the last field is the offset of the local header
  put_text(out, name);
}

/// Returns a ZIP store with an empty map and `count` members in one group.
ByteVector zip_with_members(std::size_t count) {
  const ByteVector embed = store_with_keys(0);
  ByteVector out;
  put_text(out, "PK\3\4");
  put_number(out, 20, 2);
  put_number(out, 0, 2);
  put_member(out, "embed.b2e", embed.size());
  put_text(out, "embed.b2e");
  out.insert(out.end(), embed.begin(), embed.end());
  const std::size_t directory = out.size();
  put_entry(out, "embed.b2e", embed.size());
  for (std::size_t i = 0; i < count; i++) put_entry(out, "m" + std::to_string(i) + ".b2nd", 100);
  const std::size_t end = out.size();
  put_text(out, "PK\6\6");
  put_number(out, 44, 8);
  put_number(out, 0, 12);
  for (const std::uint64_t value : {std::uint64_t{count + 1}, std::uint64_t{count + 1},
                                    std::uint64_t{end - directory}, std::uint64_t{directory}})
    put_number(out, value, 8);
  put_text(out, "PK\6\7");
  put_number(out, 0, 4);
  put_number(out, end, 8);
  put_number(out, 1, 4);
  put_text(out, "PK\5\6");
  put_number(out, 0, 4);
  put_number(out, ~std::uint64_t{0}, 8);
  put_number(out, ~std::uint64_t{0}, 4);
  put_number(out, 0, 2);
  return out;
}

struct Listed {
  int error = 0;
  std::size_t names = 0;
};

Listed list_directory(const fs_std::path& path) {
  Listed listed;
  DIR* const directory = ::opendir(path.c_str());
  if (directory == nullptr) return {errno, 0};
  for (errno = 0; const dirent* entry = ::readdir(directory); errno = 0)
    if (entry->d_name[0] != '.') listed.names++;
  listed.error = errno;
  ::closedir(directory);
  return listed;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    count++;
  return count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(listing_memory)

BOOST_AUTO_TEST_CASE(stores_with_more_keys_than_fit_give_EFBIG,
                     *precondition(needs_fuse_unsanitized)) {
  const SourceDir source;
  const std::vector<std::string> stores = make_six_stores(source);
  write_file(source / "small.b2e", store_with_keys(1000));
  write_file(source / "other.b2frame", flat_frame(std::string("other")));
  Mount mount(source.path(), with_listing_cache());
  for (const std::string& name : stores) {
    BOOST_TEST(list_directory(mount / name).error == EFBIG, name);
    struct stat st {};
    BOOST_TEST(::lstat((mount / name / "k0000001").c_str(), &st) == -1);
    BOOST_TEST(errno == EFBIG, name);
  }
  const Listed small = list_directory(mount / "small");
  BOOST_TEST(small.error == 0);
  BOOST_TEST(small.names == 1000U);
  BOOST_TEST(read_file(mount / "other") == bytes_of("other"));
  check_listing_memory(mount);
  BOOST_TEST(mount.unmount().ok());
  const std::string log = mount.log();
  BOOST_TEST(count_of(log, "mount with a larger cache_size") == stores.size(), log);
}

BOOST_AUTO_TEST_CASE(stores_of_many_keys_stay_within_a_larger_cache,
                     *precondition(needs_fuse_unsanitized)) {
  const SourceDir source;
  const std::vector<std::string> stores = make_six_stores(source);
  Mount mount(source.path(), {{"cache_size=64M"}, {}, Seconds(60), {}, {}});
  for (int round = 0; round < 2; round++)
    for (const std::string& name : stores) {
      const Listed listed = list_directory(mount / name);
      BOOST_TEST((listed.error == EFBIG || listed.names == kManyKeys), name << listed.error);
    }
  const std::uint64_t most = process_memory(mount.pid(), "VmHWM");
  BOOST_TEST(most <= (std::uint64_t{64} << 20) + kBesidesListings, (most >> 20) << " MiB");
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(a_zip_store_with_more_members_than_fit_gives_EFBIG,
                     *precondition(needs_fuse_unsanitized)) {
  const SourceDir source;
  write_file(source / "large.b2z", zip_with_members(1'000'000));
  write_file(source / "small.b2z", zip_with_members(1000));
  Mount mount(source.path(), with_listing_cache());
  BOOST_TEST(list_directory(mount / "large").error == EFBIG);
  const Listed small = list_directory(mount / "small");
  BOOST_TEST(small.error == 0);
  BOOST_TEST(small.names == 1000U);
  check_listing_memory(mount);
  BOOST_TEST(mount.unmount().ok());
  BOOST_TEST(count_of(mount.log(), "large.b2z: the listing needs more than") == 1U, mount.log());
}

BOOST_AUTO_TEST_CASE(stores_that_nobody_uses_give_way, *precondition(needs_fuse_unsanitized)) {
  constexpr std::size_t kMembers = 12'000;
  const SourceDir source;
  for (int i = 0; i < 12; i++)
    write_file(source / ("s" + std::to_string(i) + ".b2z"), zip_with_members(kMembers));
  Mount mount(source.path(), {{"cache_size=32M"}, {}, Seconds(20), {}, {}});
  for (int i = 0; i < 12; i++) {
    const Listed listed = list_directory(mount / ("s" + std::to_string(i)));
    BOOST_TEST(listed.error == 0, i);
    BOOST_TEST(listed.names == kMembers, i);
  }
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(a_SOURCE_that_is_a_store_with_more_members_than_fit_mounts,
                     *precondition(needs_fuse_unsanitized)) {
  const SourceDir source;
  write_file(source / "large.b2z", zip_with_members(300'000));
  Mount mount(source / "large.b2z", with_listing_cache());
  BOOST_TEST(list_directory(mount.path()).error == EFBIG);
  check_listing_memory(mount);
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(directories_nested_deep_take_memory_by_their_depth,
                     *precondition(needs_fuse_unsanitized)) {
  // The paths of these directories have 65 MB in total.
  constexpr int kDeep = 710;
  const std::string name(255, 'd');
  const SourceDir source;
  {
    Fd at(::open(source.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < kDeep; i++) {
      BOOST_TEST_REQUIRE(::mkdirat(at.get(), name.c_str(), 0755) == 0);
      at = Fd(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      BOOST_TEST_REQUIRE(static_cast<bool>(at));
    }
  }
  Mount mount(source.path(), with_listing_cache());
  for (int round = 0; round < 2; round++) {
    Fd at(::open(mount.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < kDeep; i++) {
      Fd next(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      BOOST_TEST_REQUIRE(static_cast<bool>(next), i << ": " << errno);
      at = std::move(next);
      struct stat st {};
      BOOST_TEST_REQUIRE(::fstatat(at.get(), "nothing", &st, 0) == -1);
      ::fstatat(at.get(), "nothing else", &st, 0);
      ::fstatat(at.get(), "nothing at all", &st, 0);
    }
  }
  check_listing_memory(mount);
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
