#pragma once
// Writes frame headers: the counterpart of frame_header (frame/formats/cframe.md, "Header").

#include <cstdint>
#include <string>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/container/frame_info.hpp"
#include "frame/container/metalayer.hpp"

namespace bloscfs::frame::inline header {

/// The whole header of a new fixed-size frame, as `info` says but for header_len.
/// Throws std::system_error(EINVAL) for metalayers that a header cannot hold.
std::vector<std::uint8_t> serialize_frame_header(const FrameInfo& info,
                                                 const std::vector<Metalayer>& metalayers);

/// Brings the fields that commits change up to date in the header's first bytes: lengths, sizes,
/// whether there are vlmetalayers.
void update_frame_header(codec::MutableBytes header, const FrameInfo& info, bool has_vlmetalayers);

/// Brings the shape up to date in the b2nd metalayer that starts at `content_at` of the header
/// (frame/formats/b2nd.md, "Metalayer"). The number of dimensions stays.
void update_shape(codec::MutableBytes header, std::size_t content_at,
                  const std::vector<std::int64_t>& shape);

}  // namespace bloscfs::frame::inline header
