#include "tests/fuzz/hostile_source.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/store/byte_source.hpp"

namespace bloscfs::fuzz {
namespace {

namespace paths = std::filesystem;
using Buffer = std::vector<std::uint8_t>;

/// Inputs of the corpus refer to these by number, so the order must stay.
constexpr const char* kImages[] = {
    "cframe/one-chunk-exact.b2frame",
    "cframe/many-vlmeta.b2frame",
    "cframe/special-appended-t8.b2frame",
    "cframe/fill-zeros-t8.b2frame",
    "cframe/ts7.b2frame",
    "cframe/zstd-shuffle-t4.b2frame",
    "upstream/varchunks-lz4-3.0.0.b2frame",
    "upstream/vlblocks-lz4-fixed-3.0.0.b2frame",
    "b2nd/1d-3-int32-zstd-bitshuffle.b2nd",
    "b2nd/dtype-bef4.b2nd",
    "b2nd/struct-4.b2nd",
    "b2nd/nans-f8.b2nd",
    "../bloscpack/size-exact.blp",
    "../bloscpack/numpy-2.blp",
    "sframe/ts16.b2frame",
    "sframe/varchunks.b2frame",
    "b2nd-sframe/shrink.b2nd",
    "../python/table.b2d",
    "../python/proxy1.b2nd",
};

constexpr const char* kNames[] = {"a.b2frame", "a.b2nd",        "b.b2frame",  "b.b2nd",
                                  "c",         "sub/a.b2frame", "sub/b.b2nd", "d.blp",
                                  "e.b2",      "c.b2frame",     "t.b2d",      "a.b2frame.b2lock"};

constexpr std::size_t kMostFiles = 4;
constexpr std::size_t kMostDamage = 8;
/// The readers read about as much for one header or one trailer.
constexpr std::size_t kEdge = 160;
constexpr std::size_t kMostAppended = 64;

constexpr std::int64_t kNumbers[] = {
    0,      1,      2,          7,          16,         127, 128, 255,      256,      4096,
    0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, -1,  -2,  1L << 33, 1L << 56, 1L << 62};

Buffer read_file(const paths::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Image read_image(const paths::path& path) {
  Image image;
  image.is_directory = paths::is_directory(path);
  if (image.is_directory) {
    for (const auto& entry : paths::recursive_directory_iterator(path))
      if (entry.is_regular_file())
        image.files.emplace_back(entry.path().lexically_relative(path), read_file(entry.path()));
    std::sort(image.files.begin(), image.files.end());
  } else {
    image.files.emplace_back("", read_file(path));
  }
  if (image.files.empty() || image.files.front().second.empty()) {
    std::fprintf(stderr, "no container: %s\n", path.c_str());
    std::abort();
  }
  return image;
}

std::string make_place() {
  std::string path = paths::temp_directory_path() / "bloscfs-fuzz-XXXXXX";
  if (::mkdtemp(path.data()) != nullptr) return path;
  std::perror("mkdtemp");
  std::abort();
}

std::size_t place_in(InputReader& input, std::size_t size) {
  const std::uint8_t choice = input.byte();
  if (choice < 96) return std::min<std::size_t>(choice, size);
  if (choice < 160) return size - std::min<std::size_t>(choice - std::size_t{95}, size);
  return input.word() % (size + 1);
}

void put_number(Buffer& bytes, std::size_t at, std::uint64_t number, std::size_t width, bool big) {
  for (std::size_t i = 0; i < width && at + i < bytes.size(); i++)
    bytes[at + i] = static_cast<std::uint8_t>(number >> 8 * (big ? width - 1 - i : i));
}

void damage(Buffer& bytes, InputReader& input) {
  const std::uint8_t kind = input.byte();
  const std::size_t at = place_in(input, bytes.size());
  switch (kind % 8) {
    case 0:
      if (at < bytes.size()) bytes[at] ^= static_cast<std::uint8_t>(1 << input.below(8));
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = input.byte();
      break;
    case 2:
    case 3: {
      const auto number = static_cast<std::uint64_t>(kNumbers[input.below(std::size(kNumbers))]);
      const std::size_t width = std::size_t{1} << (1 + kind / 8 % 3);
      put_number(bytes, at, number, width, kind % 8 == 2);
      break;
    }
    case 4:
      bytes.resize(at);
      break;
    case 5: {
      const codec::Bytes more = input.bytes(input.below(kMostAppended));
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
      break;
    }
    case 6: {
      const std::size_t size = std::min(input.below(kEdge), bytes.size() - at);
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
      bytes.erase(begin, begin + static_cast<std::ptrdiff_t>(size));
      break;
    }
    default: {
      const codec::Bytes over = input.bytes(input.below(kMostAppended));
      std::copy_n(over.begin(), std::min(over.size(), bytes.size() - at),
                  bytes.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
}

/// Ignores errors: then the file is missing.
void write_file(const std::string& path, codec::Bytes bytes) {
  std::error_code ignored;
  paths::create_directories(paths::path(path).parent_path(), ignored);
  const frame::UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0644));
  if (file) [[maybe_unused]]
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
}

}  // namespace

HostileSource::HostileSource() : path_(make_place()) {
  const paths::path data = paths::path(BLOSCFS_TEST_SOURCE_ROOT) / "tests" / "data" / "frame";
  for (const char* name : kImages) images_.push_back(read_image(data / name));
}

HostileSource::~HostileSource() {
  std::error_code ignored;
  paths::remove_all(path_, ignored);
}

void HostileSource::make(InputReader& input) {
  for (const auto& entry : paths::directory_iterator(path_)) paths::remove_all(entry.path());
  const std::size_t count = 1 + input.below(kMostFiles);
  for (std::size_t i = 0; i < count; i++) put(input);
}

void HostileSource::put(InputReader& input) {
  const Image& image = images_[input.below(images_.size())];
  const std::string name = path_ + "/" + kNames[input.below(std::size(kNames))];
  auto files = image.files;
  for (std::size_t times = input.below(kMostDamage); times > 0; times--) {
    auto& file = files.size() == 1 ? files.front() : files[input.below(files.size())];
    damage(file.second, input);
  }
  for (const auto& [inner, bytes] : files)
    write_file(inner.empty() ? name : name + "/" + inner, bytes);
}

std::string HostileSource::pick(InputReader& input) const {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : paths::recursive_directory_iterator(path_, ignored))
    found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found.empty() ? path_ + "/gone" : found[input.below(found.size())];
}

void HostileSource::change(InputReader& input) {
  std::error_code ignored;
  const std::uint8_t kind = input.byte();
  if (kind % 8 == 0) return put(input);
  const std::string path = pick(input);
  switch (kind % 8) {
    case 1:
      paths::resize_file(path, input.word(), ignored);
      break;
    case 2:
      paths::remove_all(path, ignored);
      break;
    case 3:
      paths::rename(path, path_ + "/" + kNames[input.below(std::size(kNames))], ignored);
      break;
    case 4:
      paths::create_hard_link(path, path_ + "/" + kNames[input.below(std::size(kNames))], ignored);
      break;
    case 5:
      paths::remove(path, ignored);
      paths::create_symlink(kNames[input.below(std::size(kNames))], path, ignored);
      break;
    default: {
      const frame::UniqueFd file(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
      struct stat st {};
      if (!file || ::fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode)) return;
      const std::size_t at = place_in(input, static_cast<std::size_t>(st.st_size));
      const codec::Bytes bytes = input.bytes(input.below(kMostAppended));
      [[maybe_unused]] const ssize_t written =
          ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    }
  }
}

}  // namespace bloscfs::fuzz
