#include "frame/cframe/cframe.hpp"

#include <array>
#include <utility>

#include "frame/header/cframe_format.hpp"
#include "frame/header/frame_header.hpp"
#include "frame/reading/copied_source.hpp"
#include "frame/store/peer_lock.hpp"

namespace bloscfs::frame::inline cframe {
namespace {

class CframeSnapshot final : public FrameSnapshot {
 public:
  CframeSnapshot(FrameParts parts, std::shared_ptr<const ByteSource> source, FileStamp stamp,
                 std::shared_ptr<ExpectedState> expected, std::shared_ptr<PeerLock> lock)
      : FrameSnapshot(std::move(parts), std::move(source), stamp, std::move(expected),
                      std::move(lock)) {}

  bool is_unchanged_since_commit() const override {
    return is_unchanged_by_peer() && !expected()->is_overtaken();
  }

 protected:
  ChunkFile chunk_file(const ChunkPlace& place) const override {
    return {contents(), {place.stored_offset, place.stored_limit}, {}};
  }
};

}  // namespace

bool has_frame_at(const ByteSource& source, std::uint64_t position) {
  std::array<std::uint8_t, 1 + sizeof(kFrameMagic)> start;
  return source.read_at(position, start) == start.size() && has_frame_magic(start);
}

std::unique_ptr<FrameSnapshot> open_cframe(std::shared_ptr<const ByteSource> source,
                                           const OpenSettings& settings,
                                           std::shared_ptr<ExpectedState> expected,
                                           SourceStart* start) {
  std::shared_ptr<PeerLock> lock;
  if (!settings.name.empty())
    lock = PeerLock::open(settings.directory, settings.name + kSidecarSuffix);
  const PeerLock::Shared shared(lock);
  FileStamp stamp;
  // Bytes that were read before the sidecar was locked may be torn.
  FrameParts parts = read_stable_parts(*source, 0, stamp, lock ? nullptr : start);
  return std::make_unique<CframeSnapshot>(std::move(parts), std::move(source), stamp,
                                          std::move(expected), std::move(lock));
}

std::unique_ptr<FrameSnapshot> open_written_cframe(std::shared_ptr<const ByteSource> source,
                                                   const FileStamp& stamp, WrittenEnds ends,
                                                   std::shared_ptr<ExpectedState> expected,
                                                   std::shared_ptr<PeerLock> lock) {
  const FirstReads known{ends.header.size(), ends.tail.size()};
  const auto start = std::make_shared<CopiedSource>(source, 0, std::move(ends.header));
  const auto both = std::make_shared<CopiedSource>(start, ends.tail_at, std::move(ends.tail));
  FrameParts parts = read_frame_parts(*both, stamp.size, 0, known);
  parts.copy = both;
  parts.copied = known.start + known.end;
  return std::make_unique<CframeSnapshot>(std::move(parts), std::move(source), stamp,
                                          std::move(expected), std::move(lock));
}

}  // namespace bloscfs::frame::inline cframe
