#pragma once
// Stores the bytes of a file as a flat frame.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "frame/container/frame_writer.hpp"
#include "frame/store/byte_store.hpp"
#include "fs/options/write_options.hpp"
#include "fs/support/worker_pool.hpp"
#include "fs/view/block_cache.hpp"
#include "fs/view/metalayer_changes.hpp"

namespace bloscfs::fs {

/// The bytes of a file. One thread at a time may call size() and next_data(). The workers call
/// read().
class FileBytes {
 public:
  virtual ~FileBytes() = default;
  virtual std::int64_t size() const = 0;
  /// Returns the offset of the first byte from `offset` on that may not be zero; the file's size if
  /// there is none. The cost depends on the amount of data, not on the size of the holes.
  virtual std::int64_t next_data(Request& request, std::int64_t offset) const = 0;
  virtual void read(Request& request, std::int64_t offset, codec::MutableBytes out) const = 0;
};

/// The bytes of a source.
class SourceBytes final : public FileBytes {
 public:
  explicit SourceBytes(const frame::ByteSource& source)
      : source_(source), size_(source.stamp().size) {}
  std::int64_t size() const override { return size_; }
  std::int64_t next_data(Request&, std::int64_t offset) const override { return offset; }
  void read(Request&, std::int64_t offset, codec::MutableBytes out) const override {
    source_.read_exactly_at(static_cast<std::uint64_t>(offset), out, "file");
  }

 private:
  const frame::ByteSource& source_;
  const std::int64_t size_;
};

/// A complete frame under a temporary or shared name, and the writer that made it.
struct StoredFrame {
  std::string name;
  std::unique_ptr<frame::FrameWriter> writer;
};

/// What a frame gets besides its bytes. The defaults add nothing.
struct FrameExtras {
  const frame::Snapshot* before = nullptr;  ///< the state that it replaces; its metalayers are kept
  const LayerChanges* metalayers = nullptr;  ///< changes of these metalayers
  std::optional<frame::FileTimes> times = std::nullopt;
};

/// Makes a complete, durable frame of the file's bytes under a temporary name. Only its owner may
/// read it. Throws ESTALE if `extras.before` is changed in place during the call. With a
/// `shared_name`, makes a sparse frame of that name instead (see StoredPlace::is_shared). Throws
/// the errors of Transaction. Removes the temporary frame if it fails.
StoredFrame store_as_frame(Request& request, const FileBytes& bytes,
                           const std::shared_ptr<frame::StoreDirectory>& directory,
                           const WriteOptions& options, BlockCache& cache, WorkerPool& pool,
                           const std::optional<std::string>& shared_name = std::nullopt,
                           const FrameExtras& extras = {});

}  // namespace bloscfs::fs
