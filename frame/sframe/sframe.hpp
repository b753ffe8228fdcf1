#pragma once
// Sparse frames: a directory with one file per chunk (frame/formats/sframe.md).

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "frame/container/open_settings.hpp"
#include "frame/container/snapshot.hpp"
#include "frame/reading/frame_snapshot.hpp"
#include "frame/store/byte_store.hpp"
#include "frame/store/peer_lock.hpp"

namespace bloscfs::frame::inline sframe {

/// The files of a sparse frame. Thread-safe.
class SframeFiles {
 public:
  virtual ~SframeFiles() = default;
  virtual std::shared_ptr<const ByteSource> index() const = 0;
  /// Opens a chunk file. Throws Error(malformed) when there is no such regular file.
  virtual std::shared_ptr<const ByteSource> open_chunk(std::uint32_t number) const = 0;
  /// As of StoreDirectory, of chunk files.
  virtual bool are_far() const { return false; }
  virtual std::int64_t most_under_way() const { return 0; }
  virtual void expect(std::uint32_t /*number*/, std::span<const ByteRange> /*ranges*/) const {}
  virtual bool is_at_hand(std::uint32_t /*number*/, std::span<const ByteRange> /*ranges*/) const {
    return true;
  }
  /// Stamp of the file that has the index's name now; nothing when there is none.
  virtual std::optional<FileStamp> index_stamp() const = 0;
  /// As of StoreDirectory.
  virtual bool are_lasting() const { return false; }
  /// The lock sidecar; null without one.
  virtual std::shared_ptr<PeerLock> lock() const = 0;
};

/// Opens the sparse frame that `files` make up, reading the index file's header and trailer only.
/// Throws Error if it cannot be trusted. `expected` is what snapshots of one writer share.
std::unique_ptr<FrameSnapshot> open_sframe(std::shared_ptr<const SframeFiles> files,
                                           std::shared_ptr<ExpectedState> expected = nullptr);

/// The files in a directory; null when it has no regular file chunks.b2frame.
/// Throws std::system_error when that cannot be opened.
std::shared_ptr<const SframeFiles> open_sframe_files(
    std::shared_ptr<const StoreDirectory> directory);

}  // namespace bloscfs::frame::inline sframe
