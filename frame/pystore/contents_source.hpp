#pragma once
// A range of a frame's contents as a source, for a frame that is embedded in another one.

#include <cstdint>
#include <functional>
#include <memory>

#include "frame/container/snapshot.hpp"
#include "frame/store/memory_charge.hpp"

namespace bloscfs::frame::inline pystore {

/// Fills `out` with decoded bytes from `content_offset` on. The range must be inside the contents.
/// Thread-safe. Throws Error, std::system_error.
using ContentsReader = std::function<void(std::int64_t content_offset, MutableBytes out)>;

class ContentsSource final : public ByteSource {
 public:
  /// Covers the contents [offset, offset + size) of `outer`, which `read` decodes. Throws
  /// Error(malformed) if the range is outside of the contents.
  ContentsSource(std::shared_ptr<const Snapshot> outer, ContentsReader read, std::uint64_t offset,
                 std::uint64_t size);
  /// Throws std::system_error(EIO) if the outer frame has changed.
  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override;
  /// Returns the stamp of the outer frame with the size of the range, or with size -1 once the
  /// outer frame has changed.
  FileStamp stamp() const override;
  std::optional<FileReaders> readers() const override { return outer_->source()->readers(); }

 private:
  const std::shared_ptr<const Snapshot> outer_;
  const ContentsReader read_;
  const std::uint64_t offset_;
  const std::uint64_t size_;
};

/// Returns a reader for use without a block cache. It decodes block by block and keeps the last
/// block. Charges that block and the memory for decoding to `charge`. Throws Error(too_large) for
/// blocks of more than 64 MiB. The reader shares `frame` and `charge`.
ContentsReader make_contents_reader(std::shared_ptr<const Snapshot> frame, ChargePointer charge);

}  // namespace bloscfs::frame::inline pystore
