#include "frame/remote/cache_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <new>
#include <random>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline remote {
namespace {

constexpr std::size_t kPieceOverhead = sizeof(RawPieceHeader) + sizeof(RawPieceChecksum);
constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
/// A read updates the piece's time of use (its mtime) at most this often.
constexpr std::int64_t kTouchSeconds = 60;
/// A temporary of more than this age counts as left behind by a process that has ended.
constexpr std::int64_t kLeftSeconds = 600;
constexpr std::uint64_t kDiskBlock = 4096;
constexpr std::string_view kNewPrefix = "new-";

/// The names of a piece's folders and file.
struct PiecePath {
  explicit PiecePath(const PieceName& name) {
    for (const std::uint8_t byte : name) file += fmt::format("{:02x}", byte);
    outer = file.substr(0, 2);
    inner = file.substr(2, 2);
  }
  std::string whole() const { return outer + "/" + inner + "/" + file; }
  std::string outer, inner, file;
};

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::optional<PieceName> parse_piece_name(std::string_view text) {
  PieceName name{};
  if (text.size() != 2 * name.size() || !is_hex(text)) return std::nullopt;
  for (std::size_t i = 0; i < name.size(); i++) {
    const auto digit = [&](std::size_t at) {
      return static_cast<unsigned>(text[at] <= '9' ? text[at] - '0' : text[at] - 'a' + 10);
    };
    name[i] = static_cast<std::uint8_t>(digit(2 * i) << 4 | digit(2 * i + 1));
  }
  return name;
}

std::int64_t seconds_between(const timespec& a, std::time_t b) {
  return std::abs(static_cast<std::int64_t>(b) - static_cast<std::int64_t>(a.tv_sec));
}

UniqueFd folder_in(int parent, const std::string& name) {
  return UniqueFd(::openat(parent, name.c_str(), kOpenFolder));
}

UniqueFd make_folder_in(int parent, const std::string& name) {
  UniqueFd folder = folder_in(parent, name);
  if (!folder && errno == ENOENT) {
    if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) throw_errno(name);
    folder = folder_in(parent, name);
  }
  if (!folder) throw_errno(name);
  return folder;
}

RawPieceHeader header_of(const PieceName& name, std::size_t length) {
  RawPieceHeader header{};
  header.magic = kPieceMagic;
  header.version = kPieceVersion;
  header.length = static_cast<std::uint32_t>(length);
  header.name = name;
  return header;
}

bool is_whole(const std::vector<std::uint8_t>& file, const PieceName& name) {
  const RawPieceHeader header = header_of(name, file.size() - kPieceOverhead);
  if (std::memcmp(&header, file.data(), sizeof header) != 0) return false;
  RawPieceChecksum checksum;
  const std::size_t before = file.size() - sizeof checksum;
  std::memcpy(&checksum, file.data() + before, sizeof checksum);
  return checksum.value() == XXH3_64bits(file.data(), before);
}

/// Returns nothing if the file cannot be read.
std::vector<std::uint8_t> read_file(int fd, std::size_t size) {
  std::vector<std::uint8_t> file(size);
  for (std::size_t done = 0; done < size;) {
    const ssize_t count = ::pread(fd, file.data() + done, size - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {};
    done += static_cast<std::size_t>(count);
  }
  return file;
}

void write_file(int fd, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_errno("writing to the cache");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

/// Returns a random name for a temporary, so that names differ between processes, even after a
/// fork.
std::string new_name() {
  std::random_device random;
  return fmt::format("{}{:08x}{:08x}", kNewPrefix, random(), random());
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

/// Calls `visit` with each name in a folder until it returns false. Returns false in that case. A
/// folder that cannot be read counts as empty.
template <typename Visitor>
bool for_each_name(UniqueFd folder, const Visitor& visit) {
  const std::unique_ptr<DIR, CloseDirectory> directory(folder ? ::fdopendir(folder.get())
                                                              : nullptr);
  if (!directory) return true;
  static_cast<void>(folder.release());
  while (const dirent* entry = ::readdir(directory.get()))
    if (!visit(::dirfd(directory.get()), std::string(&entry->d_name[0]))) return false;
  return true;
}

/// Calls `visit` with each subfolder whose name the cache uses: two hex digits.
template <typename Visitor>
bool for_each_folder(UniqueFd folder, const Visitor& visit) {
  return for_each_name(std::move(folder), [&](int parent, const std::string& name) {
    return name.size() != 2 || !is_hex(name) || visit(folder_in(parent, name));
  });
}

}  // namespace

Bytes CachedPiece::bytes() const {
  return Bytes(file_).subspan(sizeof(RawPieceHeader), file_.size() - kPieceOverhead);
}

CacheFolder::CacheFolder(const std::string& path) {
  if (::mkdirat(AT_FDCWD, path.c_str(), 0700) != 0 && errno != EEXIST) throw_errno(path);
  folder_ = UniqueFd(::open(path.c_str(), kOpenFolder));
  if (!folder_) throw_errno(path);
  const struct stat st = status_of(folder_.get());
  if (st.st_uid != ::geteuid()) throw_errno(EPERM, path + " belongs to another user");
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw_errno(EPERM, path + " can be written to by others");
}

UniqueFd CacheFolder::open_level(const PieceName& name) const {
  const PiecePath path(name);
  const UniqueFd outer = folder_in(folder_.get(), path.outer);
  return outer ? folder_in(outer.get(), path.inner) : UniqueFd();
}

std::optional<CachedPiece> CacheFolder::read(const PieceName& name) const {
  const UniqueFd level = open_level(name);
  if (!level) return std::nullopt;
  const UniqueFd fd(::openat(level.get(), PiecePath(name).file.c_str(),
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0) return std::nullopt;
  std::vector<std::uint8_t> file;
  if (S_ISREG(st.st_mode) && st.st_size >= static_cast<off_t>(kPieceOverhead) &&
      st.st_size <= static_cast<off_t>(kPieceOverhead + kCachePieceSize))
    file = read_file(fd.get(), static_cast<std::size_t>(st.st_size));
  if (file.empty() || !is_whole(file, name)) {
    remove(name);
    return std::nullopt;
  }
  if (seconds_between(st.st_mtim, std::time(nullptr)) > kTouchSeconds)
    ::futimens(fd.get(), nullptr);
  return CachedPiece(std::move(file));
}

bool CacheFolder::has(const PieceName& name) const noexcept {
  try {
    return ::faccessat(folder_.get(), PiecePath(name).whole().c_str(), F_OK, 0) == 0;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void CacheFolder::write(const PieceName& name, Bytes bytes) const {
  const PiecePath path(name);
  const UniqueFd outer = make_folder_in(folder_.get(), path.outer);
  const UniqueFd level = make_folder_in(outer.get(), path.inner);
  std::vector<std::uint8_t> file(kPieceOverhead + bytes.size());
  const RawPieceHeader header = header_of(name, bytes.size());
  std::memcpy(file.data(), &header, sizeof header);
  std::copy(bytes.begin(), bytes.end(), file.begin() + sizeof header);
  const std::size_t before = file.size() - sizeof(RawPieceChecksum);
  const RawPieceChecksum checksum(XXH3_64bits(file.data(), before));
  std::memcpy(file.data() + before, &checksum, sizeof checksum);
  const std::string temporary = new_name();
  const UniqueFd fd(::openat(level.get(), temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) throw_errno(temporary);
  try {
    write_file(fd.get(), file);
    if (::renameat(level.get(), temporary.c_str(), level.get(), path.file.c_str()) != 0)
      throw_errno(path.file);
  } catch (const std::system_error&) {
    ::unlinkat(level.get(), temporary.c_str(), 0);
    throw;
  }
}

void CacheFolder::remove(const PieceName& name) const noexcept {
  try {
    const UniqueFd level = open_level(name);
    if (level) ::unlinkat(level.get(), PiecePath(name).file.c_str(), 0);
  } catch (const std::bad_alloc&) {
    // The next read() of a damaged piece removes it.
  }
}

void CacheFolder::for_each(const Visit& visit) const {
  const auto visit_file = [&](int level, const std::string& name) {
    struct stat st {};
    const auto piece = parse_piece_name(name);
    if (!piece && !name.starts_with(kNewPrefix)) return true;
    if (::fstatat(level, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return true;
    if (piece)
      return visit({*piece, st.st_mtim.tv_sec * 1'000'000'000 + st.st_mtim.tv_nsec,
                    taken(static_cast<std::uint64_t>(st.st_size))});
    if (seconds_between(st.st_mtim, std::time(nullptr)) > kLeftSeconds)
      ::unlinkat(level, name.c_str(), 0);
    return true;
  };
  UniqueFd top(::openat(folder_.get(), ".", kOpenFolder));
  for_each_folder(std::move(top), [&](UniqueFd outer) {
    return for_each_folder(std::move(outer), [&](UniqueFd level) {
      return for_each_name(std::move(level), visit_file);
    });
  });
}

CacheFolder::Disk CacheFolder::disk() const {
  struct statvfs st {};
  if (::fstatvfs(folder_.get(), &st) != 0) throw_errno("fstatvfs");
  return {st.f_blocks * st.f_frsize, st.f_bavail * st.f_frsize};
}

std::uint64_t CacheFolder::taken(std::uint64_t size) {
  return (size + kDiskBlock - 1) / kDiskBlock * kDiskBlock;
}

std::uint64_t CacheFolder::taken_by_piece(std::size_t size) { return taken(kPieceOverhead + size); }

}  // namespace bloscfs::frame::inline remote
