// The daemon uses at most cache_size and 48 MiB, whatever files contain and programs request.

#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "codec/chunk_encoder.hpp"
#include "tests/frame/frame_builder.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/manifest.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/proc.hpp"
#include "tests/support/source_dir.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using frame::test::FrameBuilder;

constexpr std::uint64_t kCache = std::uint64_t{8} << 20, kOutsideCache = std::uint64_t{48} << 20;

MountSettings small_cache(std::vector<std::string> more = {}) {
  MountSettings settings;
  settings.options = std::move(more);
  settings.options.push_back("cache_size=8M");
  return settings;
}

void check_memory(const Mount& mount, const std::string& of = {}) {
  const std::uint64_t most = process_memory(mount.pid(), "VmHWM");
  BOOST_TEST(most <= kCache + kOutsideCache, of << ": " << (most >> 20) << " MiB");
}

/// Resets the peak, so that VmHWM covers only what follows.
void forget_peak(const Mount& mount) {
  std::ofstream("/proc/" + std::to_string(mount.pid()) + "/clear_refs") << 5;
}

/// Does what a program that walks a tree does to a file. Ignores errors.
void use_file(const fs_std::path& path) {
  constexpr std::size_t kPart = 1 << 20, kParts = 32;
  const auto timeout = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  ByteVector bytes(kPart);
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (file) {
    for (std::size_t i = 0; i < kParts && std::chrono::steady_clock::now() < timeout; i++)
      if (pread(file.get(), bytes.data(), kPart, static_cast<off_t>(i * kPart)) <= 0) break;
    const off_t end = lseek(file.get(), 0, SEEK_END);
    if (pread(file.get(), bytes.data(), kPart, end / 2) < 0 || lseek(file.get(), 0, SEEK_HOLE) < 0)
      errno = 0;
  }
  try {
    for (const std::string& name : list_xattrs(path)) {
      errno_of_get_xattr(path, name);
      if (const auto at = name.find("vlmeta."); at != std::string::npos)
        errno_of_get_xattr(path, "user.blosc2.json." + name.substr(at + 7));
    }
  } catch (const std::system_error&) {
    // A file that cannot be examined has no attributes.
  }
}

/// Changes a file, if the mount allows it.
void change_file(const fs_std::path& path) {
  const Fd file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!file) return;
  if (pwrite(file.get(), "x", 1, 0) == 1) fsync(file.get());
  errno_of_set_xattr(path, "user.blosc2.vlmeta.added", "1");
  fsync(file.get());
}

void use_all(const fs_std::path& directory, const std::function<void(const fs_std::path&)>& use) {
  std::error_code error;
  for (fs_std::recursive_directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error))
    if (at->is_regular_file(error)) use(at->path());
}

void sync_file(const fs_std::path& path) {
  const Fd file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  BOOST_TEST(fsync(file.get()) == 0);
}

FrameBuilder small_array() {
  FrameBuilder frame = frame::test::simple_frame(frame::test::pattern(4096, 1), 4096, 4096);
  frame.typesize = 1;
  frame.metalayers = {{"b2nd", b2nd_metalayer({4096}, "|u1")}};
  return frame;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(memory)

BOOST_AUTO_TEST_CASE(of_a_daemon_stays_small_whatever_a_file_is,
                     *precondition(needs_fuse_unsanitized)) {
  std::vector<fs_std::path> roots = data_roots();
  if (!corpus_root().empty()) roots.push_back(corpus_root());
  const SourceDir source;
  std::vector<std::string> names;
  for (const fs_std::path& root : roots) {
    for (const CorpusEntry& entry : containers_in(root)) {
      // Valid files are small, and other tests cover them.
      if (entry.is("ok")) continue;
      const fs_std::path directory = source / std::to_string(names.size());
      fs_std::create_directory(directory);
      fs_std::copy(entry.file, directory / entry.file.filename(), fs_std::copy_options::recursive);
      names.push_back(entry.name());
    }
  }
  Mount mount(source.path(), small_cache());
  for (std::size_t i = 0; i < names.size(); i++) {
    forget_peak(mount);
    use_all(mount / std::to_string(i), use_file);
    use_all(mount / std::to_string(i), change_file);
    check_memory(mount, names[i]);
    BOOST_REQUIRE_MESSAGE(mount.running(), "the daemon died of " << names[i]);
  }
}

BOOST_AUTO_TEST_CASE(of_metalayers_that_wait_is_bounded, *precondition(needs_fuse_unsanitized)) {
  const SourceDir source;
  Mount mount(source.path(), small_cache());
  std::vector<Fd> files;
  for (int i = 0; i < 4; i++) {
    files.emplace_back(open((mount / std::to_string(i)).c_str(), O_RDWR | O_CREAT, 0644));
    BOOST_REQUIRE(pwrite(files.back().get(), "x", 1, 0) == 1);
  }
  const ByteVector noise = make_contents("noise", 1, 65536, 1);
  const std::string value(noise.begin(), noise.end());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(6);
  int set = 0;
  for (; std::chrono::steady_clock::now() < end && set < 4000; set++)
    BOOST_REQUIRE(errno_of_set_xattr(mount / std::to_string(set % 4),
                                     "user.blosc2.vlmeta.n" + std::to_string(set / 4), value) == 0);
  BOOST_TEST(set > 100);
  check_memory(mount);
  files.clear();
  BOOST_TEST(mount.unmount().ok(), mount.log());
  const Mount again(source.path());
  BOOST_TEST(list_xattrs(again / "0").size() == static_cast<std::size_t>((set + 3) / 4));
}

BOOST_AUTO_TEST_CASE(of_open_directories_is_bounded, *precondition(needs_fuse_unsanitized)) {
  constexpr int kFiles = 10000, kHandles = 20;
  const SourceDir source;
  const fs_std::path stored = source / "d";
  fs_std::create_directory(stored);
  for (int i = 0; i < kFiles; i++)
    std::ofstream(stored / (std::to_string(i) + std::string(100, 'n')));
  Mount mount(source.path(), small_cache());
  const auto open_directory = [&] {
    return Fd(open((mount / "d").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  };
  {
    std::vector<Fd> same;
    for (int i = 0; i < kHandles; i++) {
      same.push_back(open_directory());
      BOOST_REQUIRE(same.back());
    }
    check_memory(mount, "handles of one state");
  }
  std::vector<Fd> different;
  int refused = 0;
  for (int i = 0; i < kHandles; i++) {
    different.push_back(open_directory());
    if (!different.back()) {
      BOOST_TEST(errno == ENOMEM);
      refused++;
    }
    std::ofstream(stored / ("more" + std::to_string(i)));
  }
  BOOST_TEST(refused > 0);
  check_memory(mount, "handles of different states");
  different.clear();
  std::size_t listed = 0;
  BOOST_REQUIRE(mount.running());
  for ([[maybe_unused]] const auto& entry : fs_std::directory_iterator(mount / "d")) listed++;
  BOOST_TEST(listed == kFiles + kHandles);
}

// Each metalayer's chunk is small, but its decoded contents are large.
BOOST_AUTO_TEST_CASE(of_metalayers_that_a_rename_carries_over_is_bounded,
                     *precondition(needs_fuse_unsanitized)) {
  constexpr std::size_t kLayers = 100;
  FrameBuilder array = small_array();
  codec::EncodeSettings settings;
  settings.typesize = 8;
  ByteVector content(std::size_t{60} << 20);
  content[1] = 1;
  const ByteVector chunk = codec::ChunkEncoder(settings).encode_stored(content);
  for (std::size_t i = 0; i < kLayers; i++)
    array.vlmetalayers.emplace_back("layer" + std::to_string(i), chunk);
  const SourceDir source;
  write_file(source / "a.b2nd", array.build());
  Mount mount(source.path(), small_cache());
  BOOST_REQUIRE(fs_std::exists(mount / "a.npy"));
  fs_std::rename(mount / "a.npy", mount / "b");
  sync_file(mount / "b");
  check_memory(mount);
  BOOST_TEST(mount.unmount().ok(), mount.log());
  const auto info = run({b2frame_program(), "info", "--json", (source / "b.b2frame").string()});
  BOOST_TEST(info.out.find("layer99") != std::string::npos, info.description());
}

BOOST_AUTO_TEST_CASE(of_fixed_metalayers_that_a_rename_carries_over_is_bounded,
                     *precondition(needs_fuse_unsanitized)) {
  FrameBuilder array = small_array();
  for (int i = 0; i < 10; i++)
    array.metalayers.emplace_back("layer" + std::to_string(i),
                                  frame::test::Buffer(std::size_t{16} << 20));
  const SourceDir source;
  write_file(source / "a.b2nd", array.build());
  Mount mount(source.path(), small_cache());
  BOOST_TEST(::rename((mount / "a.npy").c_str(), (mount / "b").c_str()) == -1);
  BOOST_TEST(errno == EFBIG);
  BOOST_TEST(fs_std::exists(mount / "a.npy"));
  check_memory(mount);
}

BOOST_AUTO_TEST_CASE(of_changes_in_huge_chunks_is_bounded, *precondition(needs_fuse_unsanitized)) {
  constexpr std::int32_t kChunk = 1 << 30;
  FrameBuilder frame;
  frame.typesize = 1;
  frame.chunksize = kChunk;
  frame.blocksize = 4096;
  frame.nbytes = kChunk;
  frame.entries = {frame::test::special_entry(0x81)};
  const SourceDir source;
  write_file(source / "a.b2frame", frame.build());
  Mount mount(source.path(), small_cache());
  const Fd file(open((mount / "a").c_str(), O_RDWR | O_CLOEXEC));
  BOOST_TEST(pwrite(file.get(), "x", 1, 0) == -1);
  BOOST_TEST(errno == EFBIG);
  check_memory(mount);
}

// Each byte has a chunk of its own.
BOOST_AUTO_TEST_CASE(of_changes_in_tiny_chunks_is_bounded, *precondition(needs_fuse_unsanitized)) {
  constexpr std::int32_t kBytes = 4 << 20;
  FrameBuilder frame;
  frame.typesize = frame.chunksize = frame.blocksize = 1;
  frame.nbytes = kBytes;
  frame.index_chunk = frame::test::make_value_chunk({0, 0, 0, 0, 0, 0, 0, 0x81}, kBytes * 8);
  const SourceDir source;
  write_file(source / "a.b2frame", frame.build());
  Mount mount(source.path(), small_cache());
  const Fd file(open((mount / "a").c_str(), O_RDWR | O_CLOEXEC));
  const ByteVector part(1 << 16, 1);
  for (int i = 0; i < 8; i++)
    BOOST_TEST(pwrite(file.get(), part.data(), part.size(), i * std::ssize(part)) ==
               std::ssize(part));
  BOOST_TEST(fsync(file.get()) == 0);
  check_memory(mount);
}

BOOST_AUTO_TEST_CASE(of_damaged_checksums_is_bounded, *precondition(needs_fuse_unsanitized)) {
  constexpr std::int32_t kChunks = 200'000'000;
  FrameBuilder frame;
  frame.typesize = 1;
  frame.chunksize = frame.blocksize = 4096;
  frame.nbytes = std::int64_t{kChunks} * 4096;
  frame.index_chunk = frame::test::make_value_chunk({0, 0, 0, 0, 0, 0, 0, 0x81}, kChunks * 8);
  frame.vlmetalayers = {{"bloscfs.xxh3", frame::test::pattern(40, 1)}};
  const SourceDir source;
  write_file(source / "a.b2frame", frame.build());
  Mount mount(source.path(), small_cache());
  errno_of_set_xattr(mount / "a", "user.blosc2.vlmeta.added", "1");
  sync_file(mount / "a");
  check_memory(mount);
  BOOST_TEST(mount.unmount().ok(), mount.log());
  const auto info = run({b2frame_program(), "info", (source / "a.b2frame").string()});
  BOOST_TEST(info.out.find("added") != std::string::npos, info.description());
  BOOST_TEST(info.out.find("bloscfs.xxh3") == std::string::npos, info.out);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
