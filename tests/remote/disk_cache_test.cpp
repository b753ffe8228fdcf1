// Tests the disk cache alone: what survives, which damage it notices, and what it evicts.

#include "frame/remote/disk_cache.hpp"

#include <atomic>
#include <csignal>
#include <thread>

#include <fmt/core.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/remote/cached_object.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/pause.hpp"
#include "tests/support/temp_dir.hpp"

namespace {

using namespace bloscfs::frame;
using namespace bloscfs::test;
namespace utf = boost::unit_test;

constexpr std::uint64_t kRoomy = std::uint64_t{1} << 30;

PieceName numbered(std::uint64_t number) {
  PieceName name{};
  // The low byte comes first, since the first bytes of a name choose its folder.
  for (std::size_t i = 0; i < 8; i++) name[i] = static_cast<std::uint8_t>(number >> (8 * i));
  return name;
}

ByteVector filled(std::uint64_t number, std::size_t size = kCachePieceSize) {
  ByteVector bytes(size);
  std::uint64_t state = number;
  for (auto& byte : bytes)
    byte = static_cast<std::uint8_t>(
        (state = state * 6364136223846793005ULL + 1442695040888963407ULL) >> 56);
  return bytes;
}

fs_std::path file_of(const fs_std::path& folder, const PieceName& name) {
  std::string text;
  for (const auto byte : name) text += fmt::format("{:02x}", byte);
  return folder / text.substr(0, 2) / text.substr(2, 2) / text;
}

bool has_bytes(DiskCache& cache, std::uint64_t number, std::size_t size = kCachePieceSize) {
  const auto piece = cache.find(numbered(number));
  if (!piece) return false;
  const ByteVector wanted = filled(number, size);
  BOOST_TEST(
      std::equal(wanted.begin(), wanted.end(), piece->bytes().begin(), piece->bytes().end()));
  return true;
}

std::uint64_t bytes_in(const fs_std::path& folder) {
  std::uint64_t sum = 0;
  for (const auto& entry : fs_std::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) sum += CacheFolder::taken(entry.file_size());
  return sum;
}

void set_age(const fs_std::path& file, int seconds) {
  fs_std::last_write_time(file,
                          fs_std::file_time_type::clock::now() - std::chrono::seconds(seconds));
}

int error_of_open(const fs_std::path& path) {
  try {
    DiskCache(path.string(), kRoomy, {});
  } catch (const std::system_error& error) {
    return error.code().value();
  }
  return 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(disk_cache)

BOOST_AUTO_TEST_CASE(pieces_are_there_again_later) {
  const TempDir place;
  const std::string folder = (place / "cache").string();
  {
    DiskCache cache(folder, kRoomy, {});
    BOOST_TEST(!cache.find(numbered(1)));
    for (std::uint64_t i = 0; i < 50; i++) cache.keep(numbered(i), filled(i, kCachePieceSize - i));
    cache.keep(numbered(99), {});
    cache.flush();
    for (std::uint64_t i = 0; i < 50; i++) BOOST_TEST(has_bytes(cache, i, kCachePieceSize - i));
    BOOST_TEST(has_bytes(cache, 99, 0));
  }
  BOOST_TEST((fs_std::status(folder).permissions() == fs_std::perms(0700)));
  BOOST_TEST((fs_std::status(file_of(folder, numbered(1))).permissions() == fs_std::perms(0600)));
  DiskCache again(folder, kRoomy, {});
  for (std::uint64_t i = 0; i < 50; i++) BOOST_TEST(has_bytes(again, i, kCachePieceSize - i));
}

BOOST_AUTO_TEST_CASE(what_waits_is_written_at_the_end) {
  const TempDir place;
  { DiskCache(place.path().string(), kRoomy, {}).keep(numbered(1), filled(1)); }
  DiskCache again(place.path().string(), kRoomy, {});
  BOOST_TEST(has_bytes(again, 1));
}

BOOST_AUTO_TEST_CASE(one_piece_can_take_the_place_of_another) {
  const TempDir place;
  DiskCache cache(place.path().string(), kRoomy, {});
  for (const bool replaces : {false, false, true}) {
    cache.keep(numbered(1), filled(replaces ? 1 : 2), replaces);
    cache.flush();
    const auto piece = cache.find(numbered(1));
    BOOST_REQUIRE(piece);
    BOOST_TEST(piece->bytes()[0] == filled(replaces ? 1 : 2)[0]);
  }
}

BOOST_AUTO_TEST_CASE(each_altered_byte_is_noticed) {
  const TempDir place;
  const CacheFolder folder(place.path().string());
  const PieceName name = numbered(7);
  folder.write(name, filled(7, 1000));
  const fs_std::path file = file_of(place.path(), name);
  const ByteVector good = read_file(file);
  for (std::size_t i = 0; i < good.size(); i++) {
    ByteVector bad = good;
    bad[i] ^= static_cast<std::uint8_t>(1U << (i % 8));
    write_file(file, bad);
    BOOST_TEST(!folder.read(name));
    BOOST_TEST(!fs_std::exists(file));
  }
  for (std::size_t size = 0; size < good.size(); size++) {
    write_file(file, ByteVector(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)));
    BOOST_TEST(!folder.read(name));
  }
  ByteVector longer = good;
  longer.push_back(0);
  write_file(file, longer);
  BOOST_TEST(!folder.read(name));
  write_file(file, ByteVector(1 << 20));
  BOOST_TEST(!folder.read(name));
  write_file(file, good);
  BOOST_TEST(folder.read(name).has_value());
  // The file is intact, but belongs to another piece.
  const PieceName other = numbered(8);
  fs_std::create_directories(file_of(place.path(), other).parent_path());
  write_file(file_of(place.path(), other), good);
  BOOST_TEST(!folder.read(other));
}

BOOST_AUTO_TEST_CASE(what_others_could_change_is_refused) {
  const TempDir place;
  const auto with_mode = [&](unsigned mode) {
    const fs_std::path folder = place / fmt::format("mode-{:o}", mode);
    fs_std::create_directory(folder);
    fs_std::permissions(folder, fs_std::perms(mode));
    return error_of_open(folder);
  };
  BOOST_TEST(with_mode(0700) == 0);
  BOOST_TEST(with_mode(0755) == 0);
  BOOST_TEST(with_mode(0770) == EPERM);
  BOOST_TEST(with_mode(0702) == EPERM);
  BOOST_TEST(with_mode(01777) == EPERM);
  fs_std::create_directory_symlink(place / "mode-700", place / "link");
  BOOST_TEST(error_of_open(place / "link") == ENOTDIR);
  write_file(place / "file", ByteVector(1));
  BOOST_TEST(error_of_open(place / "file") == ENOTDIR);
  BOOST_TEST(error_of_open(place / "none" / "below") == ENOENT);
}

BOOST_AUTO_TEST_CASE(another_users_folder_is_refused, *utf::precondition(needs_root)) {
  const TempDir place;
  BOOST_REQUIRE(::chown(place.path().c_str(), nobody(), nobody()) == 0);
  BOOST_TEST(error_of_open(place.path()) == EPERM);
}

BOOST_AUTO_TEST_CASE(symlinks_in_the_place_of_folders_and_files_lead_nowhere) {
  const TempDir place, elsewhere;
  DiskCache cache(place.path().string(), kRoomy, {});
  const PieceName name = numbered(0x0201);
  const fs_std::path file = file_of(place.path(), name);
  fs_std::create_directories(elsewhere / "02");
  fs_std::create_directory_symlink(elsewhere.path(), place / "01");
  cache.keep(name, filled(1));
  cache.flush();
  BOOST_TEST(fs_std::is_empty(elsewhere / "02"));
  BOOST_TEST(!cache.find(name));
  fs_std::remove(place / "01");
  fs_std::create_directories(file.parent_path());
  {
    const CacheFolder other(elsewhere.path().string());
    other.write(name, filled(1));
  }
  fs_std::create_symlink(file_of(elsewhere.path(), name), file);
  BOOST_TEST(!cache.find(name));
  BOOST_TEST(fs_std::exists(file_of(elsewhere.path(), name)));
}

BOOST_AUTO_TEST_CASE(what_was_used_longest_ago_goes_first) {
  const TempDir place;
  const std::string folder = place.path().string();
  constexpr std::uint64_t kCount = 100;
  const std::uint64_t each = CacheFolder::taken_by_piece(kCachePieceSize);
  {
    DiskCache cache(folder, kRoomy, {});
    for (std::uint64_t i = 0; i < kCount; i++) {
      cache.keep(numbered(i), filled(i));
      cache.flush();
    }
  }
  // The pieces with the lowest numbers get the latest times. Piece 99 gets the oldest time, but is
  // then used.
  for (std::uint64_t i = 0; i < kCount; i++)
    set_age(file_of(place.path(), numbered(i)), static_cast<int>(1000 + i * 10));
  DiskCache cache(folder, kCount * each, {});
  BOOST_TEST(has_bytes(cache, 99));
  cache.keep(numbered(200), filled(200));
  cache.flush();
  BOOST_TEST(has_bytes(cache, 200));
  BOOST_TEST(cache.has(numbered(99)));
  BOOST_TEST(!cache.has(numbered(98)));
  BOOST_TEST(!cache.has(numbered(90)));
  for (std::uint64_t i = 0; i < 89; i++) BOOST_TEST(cache.has(numbered(i)), i);
  BOOST_TEST(bytes_in(place.path()) <= kCount * each);
}

BOOST_AUTO_TEST_CASE(the_size_is_kept_to) {
  const TempDir place;
  const std::uint64_t size = 40 * CacheFolder::taken_by_piece(kCachePieceSize);
  DiskCache cache(place.path().string(), size, {});
  for (std::uint64_t i = 0; i < 300; i++) {
    cache.keep(numbered(i), filled(i));
    if (i % 10 != 0) continue;
    cache.flush();
    BOOST_TEST(bytes_in(place.path()) <= size);
  }
  cache.flush();
  BOOST_TEST(bytes_in(place.path()) > size / 2);
  BOOST_TEST(has_bytes(cache, 299));
  // A cache that is smaller than one piece keeps nothing.
  const TempDir small;
  DiskCache none(small.path().string(), 1000, {});
  none.keep(numbered(1), filled(1));
  none.flush();
  BOOST_TEST(bytes_in(small.path()) == 0U);
}

BOOST_AUTO_TEST_CASE(use_is_noted_once_a_minute) {
  const TempDir place;
  const CacheFolder folder(place.path().string());
  folder.write(numbered(1), filled(1));
  const fs_std::path file = file_of(place.path(), numbered(1));
  const auto age = [&] {
    return fs_std::file_time_type::clock::now() - fs_std::last_write_time(file);
  };
  set_age(file, 30);
  folder.read(numbered(1));
  BOOST_TEST((age() > std::chrono::seconds(20)));
  set_age(file, 90);
  folder.read(numbered(1));
  BOOST_TEST((age() < std::chrono::seconds(20)));
}

BOOST_AUTO_TEST_CASE(what_writers_left_behind_goes) {
  const TempDir place;
  const CacheFolder folder(place.path().string());
  folder.write(numbered(1), filled(1));
  const fs_std::path level = file_of(place.path(), numbered(1)).parent_path();
  for (const char* name : {"new-1", "new-2", "mine"}) write_file(level / name, ByteVector(10));
  for (const char* name : {"new-1", "mine"}) set_age(level / name, 10000);
  int count = 0;
  folder.for_each([&](const CacheFolder::Found& found) {
    BOOST_TEST((found.name == numbered(1)));
    return ++count > 0;
  });
  BOOST_TEST(count == 1);
  BOOST_TEST(!fs_std::exists(level / "new-1"));
  BOOST_TEST(fs_std::exists(level / "new-2"));
  BOOST_TEST(fs_std::exists(level / "mine"));
}

/// Each file that a killed writer leaves is intact, or the cache notices that it is not. The next
/// writer can continue in the folder.
BOOST_AUTO_TEST_CASE(killed_writers_leave_nothing_wrong) {
  const TempDir place;
  const std::string folder = place.path().string();
  std::size_t found = 0;
  std::minstd_rand random{std::random_device{}()};
  for (int round = 0; round < 40; round++) {
    const pid_t child = ::fork();
    if (child == 0) {
      const CacheFolder mine(folder);
      for (std::uint64_t i = 0;; i++) mine.write(numbered(i % 64), filled(i % 64));
    }
    // Waits in the first round until all pieces exist, so that each round finds some.
    if (round == 0) comes_true([&] { return fs_std::exists(file_of(folder, numbered(63))); });
    pause_at_random(random, std::chrono::milliseconds(14));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    DiskCache cache(folder, kRoomy, {});
    for (std::uint64_t i = 0; i < 64; i++) found += has_bytes(cache, i) ? 1 : 0;
  }
  BOOST_TEST(found > 1000U);
}

BOOST_AUTO_TEST_CASE(two_processes_share_a_folder) {
  const TempDir place;
  const std::string folder = place.path().string();
  const std::uint64_t size = 64 * CacheFolder::taken_by_piece(kCachePieceSize);
  const auto work = [&](std::uint64_t seed) {
    DiskCache cache(folder, size, {});
    int wrong = 0;
    for (std::uint64_t i = 0; i < 2000; i++) {
      const std::uint64_t number = (i * 7 + seed) % 150;
      if (const auto piece = cache.find(numbered(number)))
        wrong += piece->bytes()[100] != filled(number)[100] ? 1 : 0;
      else
        cache.keep(numbered(number), filled(number));
    }
    cache.flush();
    return wrong;
  };
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work(1));
  BOOST_TEST(work(90) == 0);
  int status = -1;
  ::waitpid(child, &status, 0);
  BOOST_TEST(status == 0);
  // Each process counts the bytes by itself, so that together they may exceed the limit a little.
  BOOST_TEST(bytes_in(place.path()) <= size + size / 8);
}

BOOST_AUTO_TEST_CASE(many_threads_share_a_cache) {
  const TempDir place;
  DiskCache cache(place.path().string(), 64 * CacheFolder::taken_by_piece(kCachePieceSize), {});
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t seed = 0; seed < 4; seed++)
      threads.emplace_back([&, seed] {
        for (std::uint64_t i = 0; i < 500; i++) {
          const std::uint64_t number = (i * 7 + seed * 31) % 100;
          if (const auto piece = cache.find(numbered(number)))
            wrong += piece->bytes()[9] != filled(number)[9] ? 1 : 0;
          else
            cache.keep(numbered(number), filled(number));
        }
      });
  }
  BOOST_TEST(wrong == 0);
}

/// A small filesystem in memory, for tests of a full disk.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& options) {
    mounted_ = ::mount("none", place_.path().c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(place_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool is_mounted() const { return mounted_; }
  fs_std::path path() const { return place_.path(); }

 private:
  const TempDir place_;
  bool mounted_ = false;
};

BOOST_AUTO_TEST_CASE(the_end_of_the_disk_is_left_to_others, *utf::precondition(needs_root)) {
  const SmallDisk disk("size=8m,mode=700");
  BOOST_REQUIRE(disk.is_mounted());
  DiskCache cache((disk.path() / "cache").string(), kRoomy, {});
  for (std::uint64_t i = 0; i < 200; i++) {
    cache.keep(numbered(i), filled(i));
    cache.flush();
  }
  const auto space = fs_std::space(disk.path());
  BOOST_TEST(space.available >= space.capacity / 20);
  BOOST_TEST(space.available <= space.capacity / 4);
  BOOST_TEST(has_bytes(cache, 199));
}

BOOST_AUTO_TEST_CASE(a_disk_that_takes_nothing_is_done_without, *utf::precondition(needs_root)) {
  const SmallDisk disk("nr_inodes=20,mode=700");
  BOOST_REQUIRE(disk.is_mounted());
  std::atomic<int> told{0};
  DiskCache cache((disk.path() / "cache").string(), kRoomy, [&](const std::string& text) {
    BOOST_TEST(text.find("No space left") != std::string::npos, text);
    ++told;
  });
  for (std::uint64_t i = 0; i < 50; i++) cache.keep(numbered(i), filled(i));
  cache.flush();
  BOOST_TEST(told == 1);
  BOOST_TEST(has_bytes(cache, 0));
  BOOST_TEST(!cache.find(numbered(49)));
}

BOOST_AUTO_TEST_CASE(objects_are_told_apart_by_url_tag_and_size) {
  const TempDir place;
  const auto cache =
      std::make_shared<DiskCache>(place.path().string(), kRoomy, DiskCache::Notice{});
  const Url url = parse_url("http://h/x"), other = parse_url("http://h/y");
  const ByteVector bytes = filled(3, 200000);
  const CachedObject object(cache, url, "\"1\"", bytes.size());
  object.keep(0, bytes);
  cache->flush();
  ByteVector out(bytes.size());
  BOOST_TEST(object.read(0, out) == bytes.size());
  BOOST_TEST((out == bytes));
  BOOST_TEST(object.read(150000, MutableBytes(out).first(1000)) == 1000U);
  BOOST_TEST(out[0] == bytes[150000]);
  for (const CachedObject& stranger : {CachedObject(cache, other, "\"1\"", bytes.size()),
                                       CachedObject(cache, url, "\"2\"", bytes.size()),
                                       CachedObject(cache, url, "\"1\"", bytes.size() + 1)}) {
    BOOST_TEST(!stranger.has(0));
    BOOST_TEST(stranger.read(0, out) == 0U);
  }
}

BOOST_AUTO_TEST_CASE(whole_pieces_alone_are_kept) {
  const TempDir place;
  const auto cache =
      std::make_shared<DiskCache>(place.path().string(), kRoomy, DiskCache::Notice{});
  const ByteVector bytes = filled(3, 300000);
  const CachedObject object(cache, parse_url("http://h/x"), "\"1\"", bytes.size());
  object.keep(1000, Bytes(bytes).subspan(1000, 200000));
  cache->flush();
  BOOST_TEST(!object.has(0));
  BOOST_TEST(object.has(kCachePieceSize));
  BOOST_TEST(object.has(2 * kCachePieceSize));
  BOOST_TEST(!object.has(3 * kCachePieceSize));
  ByteVector out(bytes.size());
  BOOST_TEST(object.read(70000, out) == 3 * kCachePieceSize - 70000);
  object.keep(4 * kCachePieceSize, Bytes(bytes).subspan(4 * kCachePieceSize));
  cache->flush();
  BOOST_TEST(object.read(4 * kCachePieceSize, out) == 300000 - 4 * kCachePieceSize);
}

BOOST_AUTO_TEST_SUITE_END()
