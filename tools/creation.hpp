#pragma once
// Compresses an input to a frame, chunk by chunk.

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
  unsigned threads = 1;  ///< for encoding
  /// Whole chunks of a regular file may be mapped. Set only if a run reads a single input: if any
  /// mapped file becomes shorter, run() fails. Arrays that are read out of order are always mapped.
  bool maps = true;
  std::string
      sibling_path;  ///< for input through a pipe: path next to which a nameless file may be made
  /// Called with the bytes of the input that are done.
  std::function<void(std::int64_t taken)> progress = [](std::int64_t) {};
};

/// For use by one thread. Has workers of its own.
class Creation {
 public:
  /// All arguments except `settings` must outlive this object.
  Creation(CreationSettings settings, const CreatePlan& plan, RawInput& input, FrameOutput& out);

  /// Throws FileError for input and output, Error for a NPY file whose size does not fit its
  /// header, and Interrupted.
  void run();

 private:
  void throw_if_stopped() const;
  void take_stream();
  /// Takes all whole chunks that are left of a regular file. Workers read them from the file.
  void take_whole_chunks();
  void add_whole(std::size_t size);
  void take_array();
  /// True if the input is a regular file with `size` more bytes. Workers can then read them from
  /// the file.
  bool has_elements(std::size_t size) const;
  /// Skips the next `size` bytes of a regular file. Returns a function that reads them.
  ChunkPipeline::Fill next_elements(std::size_t size);
  /// Like next_elements(), but the function maps the bytes if it can, instead of copying them.
  ChunkPipeline::Lend lent_elements(std::size_t size);
  /// Adds a chunk of an array that has a run of the input's bytes in the same order.
  void add_contents(std::int64_t chunk);
  /// Sets the bytes behind the first `size` bytes to zero.
  static void fill_up(codec::MutableBytes contents, std::size_t size);
  /// Adds a chunk of an array that has a run of the input's bytes, but in another order.
  void add_run(std::int64_t chunk);
  /// Adds a chunk of an array whose bytes are spread over the input, from `elements_`.
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
  std::optional<frame::ArrayCutter> cutter_;  ///< only for an array
  std::optional<MappedInput> elements_;       ///< the mapped input; only if add_pieces() needs it
  ChunkPipeline pipeline_;
};

}  // namespace bloscfs::tools
