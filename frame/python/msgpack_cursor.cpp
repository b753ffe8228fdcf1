#include "frame/python/msgpack_cursor.hpp"

#include <bit>

#include <fmt/core.h>

#include "codec/error.hpp"

namespace bloscfs::frame::inline python {
namespace {

using codec::throw_malformed;
using Type = MsgpackValue::Type;

MsgpackValue unsigned_value(std::uint64_t number) {
  MsgpackValue value;
  value.type = Type::unsigned_integer;
  value.unsigned_integer = number;
  return value;
}

/// Makes a value from a signed integer of `size` bytes.
MsgpackValue signed_value(std::uint64_t number, std::size_t size) {
  const auto unused = static_cast<int>(64 - 8 * size);
  const auto integer = static_cast<std::int64_t>(number << unused) >> unused;
  if (integer >= 0) return unsigned_value(number);
  MsgpackValue value;
  value.type = Type::integer;
  value.integer = integer;
  return value;
}

MsgpackValue floating_value(double number) {
  MsgpackValue value;
  value.type = Type::floating;
  value.floating = number;
  return value;
}

MsgpackValue boolean_value(bool boolean) {
  MsgpackValue value;
  value.type = Type::boolean;
  value.boolean = boolean;
  return value;
}

}  // namespace

void MsgpackCursor::require(std::uint64_t size) const {
  if (size > bytes_.size() - position_)
    throw_malformed(fmt::format("msgpack at {}: ends early", position_));
}

std::uint64_t MsgpackCursor::number(std::size_t size) {
  require(size);
  std::uint64_t value = 0;
  for (; size > 0; size--) value = value << 8 | bytes_[position_++];
  return value;
}

MsgpackValue MsgpackCursor::content(Type type, std::uint64_t size) {
  require(size);
  MsgpackValue value;
  value.type = type;
  value.content = bytes_.subspan(position_, static_cast<std::size_t>(size));
  position_ += value.content.size();
  return value;
}

MsgpackValue MsgpackCursor::container(Type type, std::uint64_t size, std::size_t least_bytes) {
  require(size * least_bytes);
  MsgpackValue value;
  value.type = type;
  value.size = static_cast<std::size_t>(size);
  return value;
}

MsgpackValue MsgpackCursor::extension(std::uint64_t size) {
  const auto type = static_cast<std::int8_t>(number(1));
  MsgpackValue value = content(Type::extension, size);
  value.extension = type;
  return value;
}

MsgpackValue MsgpackCursor::take() {
  const auto marker = static_cast<std::uint8_t>(number(1));
  if (marker < 0x80) return unsigned_value(marker);
  if (marker < 0x90) return container(Type::map, marker & 0x0fU, 2);
  if (marker < 0xa0) return container(Type::array, marker & 0x0fU, 1);
  if (marker < 0xc0) return content(Type::text, marker & 0x1fU);
  if (marker >= 0xe0) return signed_value(marker, 1);
  // In a group of markers, a number or a size follows, with twice as many bytes as after the marker
  // before: 1 byte after 0xcc, 2 after 0xcd, 4 after 0xce.
  const auto width = [&](std::uint8_t first) { return std::size_t{1} << (marker - first); };
  if (marker >= 0xde) return container(Type::map, number(2 * width(0xde)), 2);
  if (marker >= 0xdc) return container(Type::array, number(2 * width(0xdc)), 1);
  if (marker >= 0xd9) return content(Type::text, number(width(0xd9)));
  if (marker >= 0xd4) return extension(width(0xd4));
  if (marker >= 0xd0) return signed_value(number(width(0xd0)), width(0xd0));
  if (marker >= 0xcc) return unsigned_value(number(width(0xcc)));
  if (marker == 0xcb) return floating_value(std::bit_cast<double>(number(8)));
  if (marker == 0xca)
    return floating_value(std::bit_cast<float>(static_cast<std::uint32_t>(number(4))));
  if (marker >= 0xc7) return extension(number(width(0xc7)));
  if (marker >= 0xc4) return content(Type::binary, number(width(0xc4)));
  if (marker >= 0xc2) return boolean_value(marker == 0xc3);
  if (marker == 0xc1) throw_malformed("msgpack with the marker 0xc1");
  return {};
}

void MsgpackCursor::skip_values(std::uint64_t count) {
  // Terminates, because each value takes at least one byte.
  for (; count > 0; count--) {
    const MsgpackValue value = take();
    if (value.type == Type::array) count += value.size;
    if (value.type == Type::map) count += 2 * std::uint64_t{value.size};
  }
}

MsgpackValue MsgpackCursor::take_expected(Type type, const char* what) {
  const std::size_t position = position_;
  MsgpackValue value = take();
  if (value.type != type) throw_malformed(fmt::format("msgpack at {}: no {}", position, what));
  return value;
}

std::optional<MsgpackValue> MsgpackCursor::take_if(Type type) {
  const std::size_t position = position_;
  const MsgpackValue value = take();
  if (value.type == type) return value;
  position_ = position;
  skip();
  return std::nullopt;
}

std::size_t MsgpackCursor::read_map() { return take_expected(Type::map, "map").size; }

std::string_view MsgpackCursor::read_text() { return take_expected(Type::text, "text").text(); }

std::optional<std::uint64_t> MsgpackCursor::read_count() {
  const auto value = take_if(Type::unsigned_integer);
  return value ? std::optional(value->unsigned_integer) : std::nullopt;
}

std::optional<std::string_view> MsgpackCursor::read_if_text() {
  const auto value = take_if(Type::text);
  return value ? std::optional(value->text()) : std::nullopt;
}

}  // namespace bloscfs::frame::inline python
