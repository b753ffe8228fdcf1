#pragma once
// Visits the chunk files that a sparse frame's index names.

#include <cstdint>

#include "codec/block_decoder.hpp"
#include "frame/reading/frame_snapshot.hpp"

namespace bloscfs::frame::inline sframe {

/// Calls visit(number) for each chunk file that the index names. Reads the whole index. Visits none
/// if `snapshot` is null.
template <typename Visit>
void for_each_named_file(const FrameSnapshot* snapshot, codec::BlockDecoder& decoder,
                         const Visit& visit) {
  const auto table = snapshot ? snapshot->index() : nullptr;
  for (std::int64_t page = 0; table && page < table->page_count(); ++page)
    for (const std::int64_t entry : table->read_page(page, decoder).entries)
      if (entry >= 0 && entry <= std::int64_t{UINT32_MAX}) visit(static_cast<std::uint32_t>(entry));
}

}  // namespace bloscfs::frame::inline sframe
