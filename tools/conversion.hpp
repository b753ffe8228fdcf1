#pragma once
// Stores the contents of one frame in another one.

#include <functional>
#include <optional>

#include "tools/array_region.hpp"
#include "tools/chunk_pipeline.hpp"
#include "tools/conversion_plan.hpp"
#include "tools/frame_output.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

/// For one thread, beside its workers.
class Conversion {
 public:
  /// `advance` is called with how many bytes of contents more are done. All but `plan` outlive it.
  Conversion(Input& input, Elements& elements, const ConversionPlan& plan, unsigned threads,
             FrameOutput& out, std::function<void(std::int64_t)> advance);

  /// Puts all chunks. Throws Error and std::system_error of the source, FileError of the output,
  /// Interrupted.
  void run();

 private:
  std::int64_t chunk_count() const;
  std::size_t chunk_size(std::int64_t chunk) const;
  void add(std::int64_t chunk);
  codec::EncodedSize copy(std::int64_t chunk, std::size_t size, codec::ChunkEncoder& encoder,
                          codec::MutableBytes out);
  codec::EncodedSize encode_anew(std::int64_t chunk, std::size_t size, codec::ChunkEncoder& encoder,
                                 codec::MutableBytes out);
  bool is_hole(std::int64_t chunk) const;
  void read(std::int64_t chunk, codec::MutableBytes contents);
  void store(const fs::RecodedChunk& chunk);

  /// Memory for the contents of a chunk. Throws Error(too_large) for one that is as large as the
  /// file has it, and larger than RunLimits allow.
  void require_modest(std::size_t size) const;

  Input& input_;
  Elements& elements_;
  const ConversionPlan& plan_;
  FrameOutput& out_;
  const std::function<void(std::int64_t)> advance_;
  const std::int64_t chunksize_;
  std::optional<ArrayRegions> regions_;  ///< of an array
  ChunkPipeline pipeline_;
};

}  // namespace bloscfs::tools
