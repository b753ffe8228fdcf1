#include "frame/editing/frame_file.hpp"

#include <algorithm>

#include "frame/header/cframe_format.hpp"
#include "frame/header/frame_header_writer.hpp"
#include "frame/header/frame_parts.hpp"
#include "frame/header/metalayer_writer.hpp"
#include "frame/store/store_writer.hpp"

namespace bloscfs::frame::inline editing {

namespace {

void write_metalayers(const FrameEdit& edit, StoreFile& file) {
  StoreWriter out(&file, 0);
  out.copy(*edit.base()->source(), 0, sizeof(RawFrameHeader));
  out.append(lay_out_header(sizes_of(edit.metalayers())).map);
  for (const FrameEdit::Layer& layer : edit.metalayers()) append_layer(layer, out);
  out.flush();
}

/// Returns where the content of the array's metalayer begins after `edit`.
std::uint64_t array_metalayer_at(const FrameEdit& edit, const MetalayerEntry& base) {
  if (!edit.changes_metalayers()) return base.stored_offset;
  std::uint64_t at =
      sizeof(RawFrameHeader) + lay_out_header(sizes_of(edit.metalayers())).map.size();
  for (const FrameEdit::Layer& layer : edit.metalayers()) {
    at += content_head(0).size();
    if (layer.name == base.name) break;
    at += layer.stored_size();
  }
  return at;
}

void write_shape(const std::vector<std::int64_t>& shape, std::uint64_t content_at,
                 StoreFile& file) {
  std::vector<std::uint8_t> content(4 + 9 * shape.size());
  file.read_exactly_at(content_at, content, "b2nd metalayer");
  update_shape(content, 0, shape);
  file.write_at(content_at, content);
}

}  // namespace

std::int64_t header_len_after(const FrameEdit& edit) {
  if (!edit.changes_metalayers()) return edit.base()->info().header_len;
  return static_cast<std::int64_t>(lay_out_header(sizes_of(edit.metalayers())).end);
}

std::vector<std::uint8_t> write_header_after(const FrameEdit& edit, const FrameInfo& info,
                                             bool has_vlmetalayers, StoreFile& file) {
  if (edit.changes_metalayers()) {
    write_metalayers(edit, file);
  } else {
    StoreWriter out(&file, 0);
    out.copy(*edit.base()->source(), 0, static_cast<std::uint64_t>(info.header_len));
    out.flush();
  }
  if (const auto layer = edit.base()->array_metalayer(); layer && info.array)
    write_shape(info.array->shape, array_metalayer_at(edit, *layer), file);
  std::vector<std::uint8_t> header(static_cast<std::size_t>(
      std::min<std::int64_t>(info.header_len, std::int64_t{kHeaderBytesKept})));
  file.read_exactly_at(0, header, "frame header");
  update_frame_header(header, info, has_vlmetalayers);
  file.write_at(0, codec::Bytes(header).first(sizeof(RawFrameHeader)));
  return header;
}

std::uint64_t write_empty_trailer(FrameTail& tail, StoreFile& file, std::uint64_t header_len,
                                  const FrameLengths& lengths) {
  tail.write_trailer(file, header_len);
  const std::uint64_t end = header_len + tail.trailer_len();
  // Readers look for the trailer behind the header, and for its length at the end of the frame. If
  // the frame has had this length before, writes the trailer once more, where it ends at a length
  // that the frame never had.
  if (lengths.next_unused(end) == end) return end;
  const std::uint64_t other_end = lengths.next_unused(end + tail.trailer_len());
  tail.write_trailer(file, other_end - tail.trailer_len());
  return other_end;
}

}  // namespace bloscfs::frame::inline editing
