#include "frame/pystore/msgpack_cursor.hpp"

#include <fmt/core.h>
#include <msgpack.hpp>
#include <msgpack/null_visitor.hpp>

#include "codec/error.hpp"

namespace bloscfs::frame::inline pystore {
namespace {

using codec::throw_malformed;

constexpr std::uint8_t kFixmap = 0x80, kFixmapMask = 0xf0, kMap16 = 0xde, kMap32 = 0xdf;
constexpr std::uint8_t kFixstr = 0xa0, kFixstrMask = 0xe0, kStr8 = 0xd9, kStr32 = 0xdb;
constexpr std::uint8_t kUint8 = 0xcc, kUint64 = 0xcf, kInt8 = 0xd0, kInt64 = 0xd3;

constexpr int kMaxCursorDepth = 64;

/// Ends the parser, which keeps something for each level, where values nest too deeply.
class DepthLimit : public msgpack::null_visitor {
 public:
  bool start_array(std::uint32_t /*size*/) { return ++depth_ <= kMaxCursorDepth; }
  bool start_map(std::uint32_t /*size*/) { return ++depth_ <= kMaxCursorDepth; }
  bool end_array() { return --depth_ >= 0; }
  bool end_map() { return --depth_ >= 0; }

 private:
  int depth_ = 0;
};

bool is_text(std::uint8_t marker) {
  return (marker & kFixstrMask) == kFixstr || (marker >= kStr8 && marker <= kStr32);
}

}  // namespace

std::uint8_t MsgpackCursor::peek() const {
  if (at_end()) throw_malformed(fmt::format("msgpack ends at {}", position_));
  return bytes_[position_];
}

std::uint64_t MsgpackCursor::take_number(std::size_t size) {
  if (bytes_.size() - position_ < size)
    throw_malformed(fmt::format("msgpack ends at {}", position_));
  std::uint64_t value = 0;
  for (; size > 0; --size) value = value << 8 | bytes_[position_++];
  return value;
}

std::size_t MsgpackCursor::read_map() {
  const std::uint8_t marker = peek();
  std::uint64_t count = 0;
  if ((marker & kFixmapMask) == kFixmap) {
    ++position_;
    count = marker & 0x0fu;
  } else if (marker == kMap16 || marker == kMap32) {
    ++position_;
    count = take_number(marker == kMap16 ? 2 : 4);
  } else {
    throw_malformed(fmt::format("msgpack at {}: no map", position_));
  }
  if (count > (bytes_.size() - position_) / 2)
    throw_malformed(fmt::format("msgpack at {}: a map of {} pairs", position_, count));
  return static_cast<std::size_t>(count);
}

std::string_view MsgpackCursor::read_text() {
  const std::uint8_t marker = peek();
  if (!is_text(marker)) throw_malformed(fmt::format("msgpack at {}: no text", position_));
  ++position_;
  const std::uint64_t size =
      marker < kStr8 ? marker & 0x1fu : take_number(std::size_t{1} << (marker - kStr8));
  if (size > bytes_.size() - position_)
    throw_malformed(fmt::format("msgpack at {}: a text of {} bytes", position_, size));
  const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + position_,
                              static_cast<std::size_t>(size));
  position_ += static_cast<std::size_t>(size);
  return text;
}

std::optional<std::uint64_t> MsgpackCursor::read_count() {
  const std::uint8_t marker = peek();
  if (marker < kFixmap) {
    ++position_;
    return marker;
  }
  const bool is_signed = marker >= kInt8 && marker <= kInt64;
  if (!is_signed && (marker < kUint8 || marker > kUint64)) {
    skip();
    return std::nullopt;
  }
  ++position_;
  const std::size_t size = std::size_t{1} << (marker - (is_signed ? kInt8 : kUint8));
  const std::uint64_t value = take_number(size);
  if (is_signed && value >> (8 * size - 1) != 0) return std::nullopt;
  return value;
}

std::optional<std::string_view> MsgpackCursor::read_if_text() {
  if (is_text(peek())) return read_text();
  skip();
  return std::nullopt;
}

void MsgpackCursor::skip() {
  DepthLimit limit;
  std::size_t end = position_;
  if (!msgpack::parse(reinterpret_cast<const char*>(bytes_.data()), bytes_.size(), end, limit))
    throw_malformed(fmt::format("msgpack at {}: no value", position_));
  position_ = end;
}

}  // namespace bloscfs::frame::inline pystore
