#include "tools/tables/msgpack_token.hpp"

#include <bit>

#include <fmt/core.h>

#include "codec/error.hpp"

namespace bloscfs::tools {
namespace {

using Type = MsgpackToken::Type;

class TokenBytes {
 public:
  TokenBytes(codec::Bytes bytes, std::size_t& position) : bytes_(bytes), position_(position) {}

  std::uint64_t number(std::size_t size) {
    require(size);
    std::uint64_t value = 0;
    for (; size > 0; size--) value = value << 8 | bytes_[position_++];
    return value;
  }
  codec::Bytes content(std::uint64_t size) {
    require(size);
    const codec::Bytes content = bytes_.subspan(position_, static_cast<std::size_t>(size));
    position_ += content.size();
    return content;
  }
  /// Of values of at least `least` bytes each.
  std::size_t count(std::uint64_t count, std::size_t least) {
    require(count * least);
    return static_cast<std::size_t>(count);
  }

 private:
  void require(std::uint64_t size) const {
    if (size > bytes_.size() - position_)
      codec::throw_malformed(fmt::format("msgpack at {}: ends early", position_));
  }

  codec::Bytes bytes_;
  std::size_t& position_;
};

void set_integer(std::int64_t value, MsgpackToken& token) {
  token.type = value < 0 ? Type::integer : Type::unsigned_integer;
  token.integer = value;
  token.unsigned_integer = static_cast<std::uint64_t>(value);
}

void set_unsigned(std::uint64_t value, MsgpackToken& token) {
  token.type = Type::unsigned_integer;
  token.unsigned_integer = value;
}

void set_content(Type type, codec::Bytes content, MsgpackToken& token) {
  token.type = type;
  token.content = content;
}

void set_size(Type type, std::size_t size, MsgpackToken& token) {
  token.type = type;
  token.size = size;
}

void set_extension(std::uint64_t size, TokenBytes& bytes, MsgpackToken& token) {
  token.extension = static_cast<std::int8_t>(bytes.number(1));
  set_content(Type::extension, bytes.content(size), token);
}

std::int64_t sign_extended(std::uint64_t value, std::size_t size) {
  const auto unused = static_cast<int>(64 - 8 * size);
  return static_cast<std::int64_t>(value << unused) >> unused;
}

/// Markers 0xc0 to 0xdf.
void take_marked(std::uint8_t marker, TokenBytes& bytes, MsgpackToken& token) {
  const auto width = [&](std::uint8_t first) { return std::size_t{1} << (marker - first); };
  switch (marker) {
    case 0xc0:
      break;
    case 0xc2:
    case 0xc3:
      token.type = Type::boolean;
      token.boolean = marker == 0xc3;
      break;
    case 0xc4:
    case 0xc5:
    case 0xc6:
      set_content(Type::binary, bytes.content(bytes.number(width(0xc4))), token);
      break;
    case 0xc7:
    case 0xc8:
    case 0xc9:
      set_extension(bytes.number(width(0xc7)), bytes, token);
      break;
    case 0xca:
      token.type = Type::floating;
      token.floating = std::bit_cast<float>(static_cast<std::uint32_t>(bytes.number(4)));
      break;
    case 0xcb:
      token.type = Type::floating;
      token.floating = std::bit_cast<double>(bytes.number(8));
      break;
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
      set_unsigned(bytes.number(width(0xcc)), token);
      break;
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3: {
      const std::size_t size = width(0xd0);
      set_integer(sign_extended(bytes.number(size), size), token);
      break;
    }
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
      set_extension(width(0xd4), bytes, token);
      break;
    case 0xd9:
    case 0xda:
    case 0xdb:
      set_content(Type::text, bytes.content(bytes.number(width(0xd9))), token);
      break;
    case 0xdc:
    case 0xdd:
      set_size(Type::array, bytes.count(bytes.number(marker == 0xdc ? 2 : 4), 1), token);
      break;
    case 0xde:
    case 0xdf:
      set_size(Type::map, bytes.count(bytes.number(marker == 0xde ? 2 : 4), 2), token);
      break;
    default:
      codec::throw_malformed("msgpack with the marker 0xc1");
  }
}

}  // namespace

MsgpackToken take_msgpack_token(codec::Bytes bytes, std::size_t& position) {
  TokenBytes rest(bytes, position);
  MsgpackToken token;
  const auto marker = static_cast<std::uint8_t>(rest.number(1));
  if (marker < 0x80)
    set_unsigned(marker, token);
  else if (marker < 0x90)
    set_size(Type::map, rest.count(marker & 0x0fU, 2), token);
  else if (marker < 0xa0)
    set_size(Type::array, rest.count(marker & 0x0fU, 1), token);
  else if (marker < 0xc0)
    set_content(Type::text, rest.content(marker & 0x1fU), token);
  else if (marker < 0xe0)
    take_marked(marker, rest, token);
  else
    set_integer(static_cast<std::int8_t>(marker), token);
  return token;
}

void skip_msgpack_value(codec::Bytes bytes, std::size_t& position) {
  // Each token takes a byte at least, so that this ends.
  for (std::uint64_t left = 1; left > 0; left--) {
    const MsgpackToken token = take_msgpack_token(bytes, position);
    if (token.type == Type::array) left += token.size;
    if (token.type == Type::map) left += 2 * std::uint64_t{token.size};
  }
}

}  // namespace bloscfs::tools
