#pragma once
// Decides which sizes a damaged frame has, by what its header says and by what its chunks are.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frame/repair/chunk_search.hpp"
#include "frame/repair/frame_remains.hpp"

namespace bloscfs::frame::inline repair {

/// Larger items are only told of by the frame's header; chunks then say 1.
inline constexpr std::int32_t kMaxChunkTypesize = 255;
/// What the header of a chunk says in a frame of such items.
inline std::int32_t stored_typesize(std::int32_t typesize) {
  return typesize > kMaxChunkTypesize ? 1 : typesize;
}

/// What is known of chunks before their sizes are decided.
struct SizeEvidence {
  std::vector<FoundChunk> chunks;     ///< in places that are not the last; where nothing tells, all
  std::optional<FoundChunk> last;     ///< in the last place
  std::optional<std::int64_t> count;  ///< chunks of the frame
};

struct FrameSizes {
  std::int32_t typesize = 1, blocksize = 0;
  std::int32_t chunksize = 0;          ///< 0: chunks of any size
  std::optional<std::int64_t> nbytes;  ///< of all chunks
  std::optional<ArrayInfo> array;
  bool vl_blocks = false;
  bool is_guess = false;           ///< header and chunks contradict each other, and nothing decides
  std::vector<std::string> notes;  ///< what the header says and the chunks disprove

  bool is_variable() const { return chunksize == 0; }
};

/// Chunks that decode wholly are believed before the header: all but the last have one size, and
/// the last one's size says what all have together. Where only special values and perhaps a last
/// chunk are there, the header is believed as far as its sizes agree with the number of chunks.
FrameSizes decide_sizes(const HeaderRemains& header, const SizeEvidence& evidence);

/// The array that a header's metalayers describe; nothing where they describe none.
std::optional<ArrayInfo> find_array(const HeaderRemains& header);
/// Of its blocks; not known without an array.
codec::BlockShape block_shape_of(const std::optional<ArrayInfo>& array);

}  // namespace bloscfs::frame::inline repair
