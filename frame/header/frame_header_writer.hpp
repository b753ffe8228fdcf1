#pragma once
// Writes the frame headers that frame_header reads (frame/formats/cframe.md, "Header").

#include <cstdint>
#include <string>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/container/frame_info.hpp"
#include "frame/container/metalayer.hpp"

namespace bloscfs::frame::inline header {

/// Returns the whole header of a new fixed-size frame with the fields of `info`, except for
/// header_len. Throws std::system_error(EINVAL) for metalayers that a header cannot hold.
std::vector<std::uint8_t> serialize_frame_header(const FrameInfo& info,
                                                 const std::vector<Metalayer>& metalayers);

/// Updates the fields that commits change in the header's first bytes: lengths, sizes, and whether
/// there are vlmetalayers.
void update_frame_header(codec::MutableBytes header, const FrameInfo& info, bool has_vlmetalayers);

/// Updates the shape in the b2nd metalayer that starts at `content_at` of the header
/// (frame/formats/b2nd.md, "Metalayer"). The number of dimensions must not change.
void update_shape(codec::MutableBytes header, std::size_t content_at,
                  const std::vector<std::int64_t>& shape);

}  // namespace bloscfs::frame::inline header
