#pragma once
// The values of msgpack bytes one after the other, without a tree of them.

#include <cstddef>
#include <cstdint>

#include "codec/bytes.hpp"

namespace bloscfs::tools {

/// A value, or what begins an array or a map.
struct MsgpackToken {
  enum class Type : std::uint8_t {
    nil,
    boolean,
    integer,  ///< below 0
    unsigned_integer,
    floating,
    text,
    binary,
    array,  ///< `size` values follow
    map,    ///< `size` pairs follow
    extension,
  };

  Type type = Type::nil;
  bool boolean = false;
  std::int64_t integer = 0;
  std::uint64_t unsigned_integer = 0;
  double floating = 0;
  std::size_t size = 0;  ///< of arrays and maps; no more than the bytes can hold
  codec::Bytes content;  ///< of texts, binary values and extensions; borrowed
  int extension = 0;     ///< its type
};

/// Takes the token at `position`, and moves that behind it. Throws Error(malformed) where the bytes
/// end early or are no msgpack.
MsgpackToken take_msgpack_token(codec::Bytes bytes, std::size_t& position);

/// Moves `position` behind the whole value there. Errors as above.
void skip_msgpack_value(codec::Bytes bytes, std::size_t& position);

}  // namespace bloscfs::tools
