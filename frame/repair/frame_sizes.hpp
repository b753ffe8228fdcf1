#pragma once
// Decides which sizes a damaged frame has, by what its header says and by what its chunks are.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frame/repair/chunk_search.hpp"
#include "frame/repair/frame_remains.hpp"

namespace bloscfs::frame {

struct FrameSizes {
  std::int32_t typesize = 1, blocksize = 0;
  std::int32_t chunksize = 0;          ///< 0: chunks of any size
  std::optional<std::int64_t> nbytes;  ///< of all chunks
  std::optional<ArrayInfo> array;
  bool vl_blocks = false;
  std::vector<std::string> notes;  ///< what the header says and the chunks disprove

  bool is_variable() const { return chunksize == 0; }
};

/// `chunks` are those that were found; `index_count` is the number of entries of the index, where
/// that is known.
FrameSizes decide_sizes(const HeaderRemains& header, const std::vector<FoundChunk>& chunks,
                        std::optional<std::int64_t> index_count);

/// The array that a header's metalayers describe; nothing where they describe none.
std::optional<ArrayInfo> find_array(const HeaderRemains& header);

}  // namespace bloscfs::frame
