#pragma once
// Compresses one input to a frame, chunk by chunk.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "frame/array/array_cutter.hpp"
#include "tools/chunk_pipeline.hpp"
#include "tools/create_plan.hpp"
#include "tools/frame_output.hpp"
#include "tools/mapped_input.hpp"
#include "tools/raw_input.hpp"

namespace bloscfs::tools {

struct CreationSettings {
  unsigned threads = 1;  ///< that encode
  /// Files may be mapped: of one at a time, since it is the program that ends badly otherwise.
  bool maps = true;
  std::string beside;  ///< where a file without a name may be made for input that is no file
  /// Called with how many bytes of the input are done.
  std::function<void(std::int64_t taken)> progress = [](std::int64_t) {};
};

/// For one thread, beside its workers.
class Creation {
 public:
  /// All outlive it, but for `settings`.
  Creation(CreationSettings settings, const CreatePlan& plan, RawInput& input, FrameOutput& out);

  /// Throws FileError of input and output, Error for a NPY file that is not what it says,
  /// Interrupted.
  void run();

 private:
  void require_going_on() const;
  void take_stream();
  /// Of a regular file, whose bytes workers read where they are.
  void take_whole_chunks();
  void add_whole(std::size_t size);
  void take_array();
  /// Whether a regular file has the next bytes, so that workers can read them where they are.
  bool has_elements(std::size_t size) const;
  /// Sets `size` bytes to those.
  ChunkPipeline::Fill next_elements(std::size_t size);
  /// The same, but not copied where that can be avoided.
  ChunkPipeline::Lend lent_elements(std::size_t size);
  void add_contents(std::int64_t chunk);
  static void fill_up(codec::MutableBytes contents, std::size_t size);
  void add_run(std::int64_t chunk);
  void add_pieces(std::int64_t chunk);
  void read_elements(codec::MutableBytes out);
  void require_end();
  void store(const fs::RecodedChunk& chunk);

  std::size_t chunksize() const { return static_cast<std::size_t>(cutter_->chunksize()); }

  const CreationSettings settings_;
  const CreatePlan& plan_;
  RawInput& input_;
  FrameOutput& out_;
  std::int64_t taken_ = 0;                    ///< bytes of the input, without a NPY header
  std::optional<frame::ArrayCutter> cutter_;  ///< of an array
  std::optional<MappedInput> elements_;       ///< where chunks are no runs of them
  ChunkPipeline pipeline_;
};

}  // namespace bloscfs::tools
