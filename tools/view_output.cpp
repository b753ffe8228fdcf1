#include "tools/view_output.hpp"

#include <algorithm>

#include "tools/interrupt.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::int64_t kWrittenAtOnce = std::int64_t{1} << 20;

}  // namespace

std::vector<std::uint8_t> contents_at(const Input& input, std::int64_t offset, std::int64_t most) {
  fs::Request request;
  const fs::FileView view(request, fs::view_shape(input.info(), true), input.reader());
  view.require_contents(request);
  fs::ReplyData reply(input.reader().cache().pages());
  view.read(request, offset, most, reply);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(reply.size()));
  reply.copy_to(bytes);
  return bytes;
}

bool is_text(codec::Bytes start) {
  return std::find(start.begin(), start.end(), std::uint8_t{0}) == start.end();
}

void write_view(const fs::FileView& view, const FileRange& range, Input& input, OutputFile& out,
                const std::function<void(std::int64_t)>& done) {
  fs::Request request;
  for (std::int64_t at = range.begin; at < range.end;) {
    const std::int64_t data = std::min(view.seek_data(request, at).value_or(range.end), range.end);
    out.write_zeros(data - at);
    const std::int64_t hole =
        data < range.end ? view.seek_hole(request, data).value_or(range.end) : data;
    at = std::min(hole, range.end);
    for (std::int64_t piece = data; piece < at; piece += kWrittenAtOnce) {
      throw_if_interrupted();
      fs::ReplyData reply(input.reader().cache().pages());
      view.read(request, piece, std::min(kWrittenAtOnce, at - piece), reply);
      for (const iovec& part : reply.pieces())
        out.write({static_cast<const std::uint8_t*>(part.iov_base), part.iov_len});
      done(piece - range.begin);
    }
  }
}

}  // namespace bloscfs::tools
