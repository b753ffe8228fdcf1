#pragma once
// Sparse frames: a directory with one file for each chunk (frame/formats/sframe.md).

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
  /// Opens a chunk file. Throws Error(malformed) if no regular file has that number.
  virtual std::shared_ptr<const ByteSource> open_chunk(std::uint32_t number) const = 0;
  /// The next four functions mean the same as in StoreDirectory, for chunk files.
  virtual bool are_over_network() const { return false; }
  virtual std::int64_t max_bytes_in_flight() const { return 0; }
  virtual void expect(std::uint32_t /*number*/, std::span<const ByteRange> /*ranges*/) const {}
  virtual bool is_available(std::uint32_t /*number*/, std::span<const ByteRange> /*ranges*/) const {
    return true;
  }
  /// Returns the stamp of the file that has the index's name now; nullopt if none has.
  virtual std::optional<FileStamp> index_stamp() const = 0;
  /// Means the same as StoreDirectory::is_lasting().
  virtual bool are_lasting() const { return false; }
  /// Returns the lock sidecar; null if there is none.
  virtual std::shared_ptr<PeerLock> lock() const = 0;
};

/// Opens the sparse frame that consists of `files`. Reads only header and trailer of the index
/// file. Throws Error if it cannot be trusted. `expected` is shared by the snapshots of one writer.
std::unique_ptr<FrameSnapshot> open_sframe(std::shared_ptr<const SframeFiles> files,
                                           std::shared_ptr<ExpectedState> expected = nullptr);

/// Returns the files in a directory; null if it has no regular file chunks.b2frame. Throws
/// std::system_error if that file cannot be opened.
std::shared_ptr<const SframeFiles> open_sframe_files(
    std::shared_ptr<const StoreDirectory> directory);

}  // namespace bloscfs::frame::inline sframe
