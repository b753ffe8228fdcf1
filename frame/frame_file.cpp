#include "frame/frame_file.hpp"

#include "frame/cframe_format.hpp"
#include "frame/frame_header_writer.hpp"
#include "frame/store_writer.hpp"

namespace bloscfs::frame {

std::vector<std::uint8_t> write_header_of(const FrameSnapshot& base, const FrameInfo& info,
                                          bool has_vlmetalayers, StoreFile& file) {
  StoreWriter out(&file, 0);
  out.copy(*base.source(), 0, static_cast<std::uint64_t>(info.header_len));
  out.flush();
  if (const auto layer = base.array_metalayer(); layer && info.array) {
    std::vector<std::uint8_t> shape(4 + 9 * info.array->shape.size());
    file.read_exactly_at(layer->stored_offset, shape, "b2nd metalayer");
    update_shape(shape, 0, info.array->shape);
    file.write_at(layer->stored_offset, shape);
  }
  std::vector<std::uint8_t> header(base.header_bytes().size());
  file.read_exactly_at(0, header, "frame header");
  update_frame_header(header, info, has_vlmetalayers);
  file.write_at(0, codec::Bytes(header).first(sizeof(RawFrameHeader)));
  return header;
}

std::uint64_t write_empty_trailer(FrameTail& tail, StoreFile& file, std::uint64_t header_len,
                                  const FrameLengths& lengths) {
  tail.write_trailer(file, header_len);
  const std::uint64_t end = header_len + tail.trailer_len();
  if (lengths.next_unused(end) == end) return end;
  const std::uint64_t other_end = lengths.next_unused(end + tail.trailer_len());
  tail.write_trailer(file, other_end - tail.trailer_len());
  return other_end;
}

}  // namespace bloscfs::frame
