#pragma once
// Stores the contents of a frame in another frame.

#include <functional>
#include <optional>

#include "tools/array_region.hpp"
#include "tools/chunk_pipeline.hpp"
#include "tools/conversion_plan.hpp"
#include "tools/frame_output.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

/// For use by one thread. Has workers of its own.
class Conversion {
 public:
  /// All arguments must outlive this object. Calls `advance` with the bytes of contents that were
  /// done since its last call.
  Conversion(Input& input, Elements& elements, const ConversionPlan& plan, unsigned threads,
             FrameOutput& out, std::function<void(std::int64_t)> advance);

  /// Stores all chunks. Throws Error and std::system_error for the source, FileError for the
  /// output, and Interrupted.
  void run();

 private:
  std::int64_t chunk_count() const;
  std::size_t chunk_size(std::int64_t chunk) const;
  void add(std::int64_t chunk);
  codec::EncodedSize copy(std::int64_t chunk, std::size_t size, codec::ChunkEncoder& encoder,
                          codec::MutableBytes out);
  codec::EncodedSize reencode(std::int64_t chunk, std::size_t size, codec::ChunkEncoder& encoder,
                              codec::MutableBytes out);
  bool is_hole(std::int64_t chunk) const;
  void read(std::int64_t chunk, codec::MutableBytes contents);
  void store(const fs::RecodedChunk& chunk);

  /// Throws Error(too_large) for a chunk size that comes from the file and is more than
  /// RunLimits::kMaxWholeChunk. A size from the command line may be larger.
  void require_chunk_limit(std::size_t size) const;

  Input& input_;
  Elements& elements_;
  const ConversionPlan& plan_;
  FrameOutput& out_;
  const std::function<void(std::int64_t)> advance_;
  const std::int64_t chunksize_;
  std::optional<ArrayRegions> regions_;  ///< only for an array
  ChunkPipeline pipeline_;
};

}  // namespace bloscfs::tools
