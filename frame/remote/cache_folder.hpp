#pragma once
// The folder of a cache on disk: a file for each piece, in two levels of folders.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frame/remote/cache_format.hpp"
#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline remote {

/// Tells pieces of all states of all objects apart.
using PieceName = std::array<std::uint8_t, 16>;

/// The file of a piece, as it was checked.
class CachedPiece {
 public:
  explicit CachedPiece(std::vector<std::uint8_t> file) : file_(std::move(file)) {}
  Bytes bytes() const;

 private:
  std::vector<std::uint8_t> file_;
};

/// Thread-safe, and for any number of processes at once, without locks: files get their names when
/// they are whole, and what is torn or altered nevertheless is told by its checksum.
class CacheFolder {
 public:
  struct Found {
    PieceName name{};
    std::int64_t used_ns = 0;  ///< since 1970
    std::uint64_t size = 0;    ///< that it takes on disk
  };
  /// False ends it.
  using Visit = std::function<bool(const Found&)>;
  struct Disk {
    std::uint64_t size = 0, available = 0;
  };

  /// Makes it where it is not there. Throws std::system_error: EPERM where it is another user's or
  /// others may write to it, ENOTDIR or ELOOP where it is no directory.
  explicit CacheFolder(const std::string& path);

  /// Nothing where it is not there, or not whole: then it is removed. Throws std::bad_alloc alone.
  std::optional<CachedPiece> read(const PieceName& name) const;
  /// True if it is there, whole or not.
  bool has(const PieceName& name) const noexcept;
  /// Of at most kCachePieceSize bytes; takes the place of one that is there. Throws
  /// std::system_error.
  void write(const PieceName& name, Bytes bytes) const;
  void remove(const PieceName& name) const noexcept;

  /// All pieces, in any order, as far as they can be read. Removes what writers have left behind.
  void for_each(const Visit& visit) const;
  /// Throws std::system_error.
  Disk disk() const;

  /// What a file of so many bytes takes on disk.
  static std::uint64_t taken(std::uint64_t size);
  /// The same of a piece.
  static std::uint64_t taken_by_piece(std::size_t size);

 private:
  UniqueFd open_level(const PieceName& name) const;

  UniqueFd folder_;
};

}  // namespace bloscfs::frame::inline remote
