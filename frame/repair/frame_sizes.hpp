#pragma once
// Decides which sizes a damaged frame has, from its header and its chunks.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frame/repair/chunk_search.hpp"
#include "frame/repair/frame_remains.hpp"

namespace bloscfs::frame::inline repair {

/// Largest item size that chunks record. For larger items only the frame's header has the size, and
/// chunks have 1.
inline constexpr std::int32_t kMaxChunkTypesize = 255;
/// Returns the item size that chunk headers record in a frame with items of `typesize` bytes.
inline std::int32_t stored_typesize(std::int32_t typesize) {
  return typesize > kMaxChunkTypesize ? 1 : typesize;
}

/// Facts about the chunks that are known before their sizes are decided.
struct SizeEvidence {
  std::vector<FoundChunk> chunks;     ///< before the last place; all if places are unknown
  std::optional<FoundChunk> last;     ///< the chunk in the last place
  std::optional<std::int64_t> count;  ///< number of the frame's chunks
};

struct FrameSizes {
  std::int32_t typesize = 1, blocksize = 0;
  std::int32_t chunksize = 0;          ///< 0: chunks of any size
  std::optional<std::int64_t> nbytes;  ///< of all chunks
  std::optional<ArrayInfo> array;
  bool vl_blocks = false;
  bool is_guess = false;           ///< header and chunks contradict each other, and nothing decides
  std::vector<std::string> notes;  ///< statements of the header that the chunks disprove

  bool is_variable() const { return chunksize == 0; }
};

/// Decides the sizes. Chunks that decode wholly count more than the header: all but the last have
/// one size, and the size of the last one gives the total. If there are only special values, and
/// perhaps a last chunk, uses those sizes of the header that fit the number of chunks.
FrameSizes decide_sizes(const HeaderRemains& header, const SizeEvidence& evidence);

/// Returns the array that a header's metalayers describe; nullopt if there is none.
std::optional<ArrayInfo> find_array(const HeaderRemains& header);
/// Returns the shape of the array's blocks; unknown without an array.
codec::BlockShape block_shape_of(const std::optional<ArrayInfo>& array);

}  // namespace bloscfs::frame::inline repair
