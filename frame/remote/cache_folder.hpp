#pragma once
// The folder of a cache on disk. Each piece is a file, in two levels of subfolders.

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

/// Identifies a piece: a hash of the object's URL and state, and of the piece's number.
using PieceName = std::array<std::uint8_t, 16>;

/// A piece that was read from its file and checked.
class CachedPiece {
 public:
  explicit CachedPiece(std::vector<std::uint8_t> file) : file_(std::move(file)) {}
  Bytes bytes() const;

 private:
  std::vector<std::uint8_t> file_;
};

/// Thread-safe. Any number of processes may use a folder at once, without locks: a file gets its
/// name only when it is complete, and its checksum detects damage and alterations.
class CacheFolder {
 public:
  struct Found {
    PieceName name{};
    std::int64_t used_ns = 0;  ///< since 1970
    std::uint64_t size = 0;    ///< disk space that it takes
  };
  /// Returns false to end the visit.
  using Visit = std::function<bool(const Found&)>;
  struct Disk {
    std::uint64_t size = 0, available = 0;
  };

  /// Creates the folder if it does not exist. Throws std::system_error: EPERM if it belongs to
  /// another user or others may write to it, ENOTDIR or ELOOP if it is not a directory.
  explicit CacheFolder(const std::string& path);

  /// Returns nothing if the piece is missing or damaged. Removes a damaged one. Throws only
  /// std::bad_alloc.
  std::optional<CachedPiece> read(const PieceName& name) const;
  /// True if the piece exists, damaged or not.
  bool has(const PieceName& name) const noexcept;
  /// Writes a piece of at most kCachePieceSize bytes. Replaces an existing one. Throws
  /// std::system_error.
  void write(const PieceName& name, Bytes bytes) const;
  void remove(const PieceName& name) const noexcept;

  /// Calls `visit` for all pieces in any order, as far as the folders can be read. Removes
  /// temporaries that writers left behind.
  void for_each(const Visit& visit) const;
  /// Throws std::system_error.
  Disk disk() const;

  /// Returns the disk space that a file of `size` bytes takes.
  static std::uint64_t taken(std::uint64_t size);
  /// Returns the disk space that a piece of `size` bytes takes.
  static std::uint64_t taken_by_piece(std::size_t size);

 private:
  UniqueFd open_level(const PieceName& name) const;

  UniqueFd folder_;
};

}  // namespace bloscfs::frame::inline remote
