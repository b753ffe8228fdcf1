#pragma once
// Reads msgpack bytes value by value, without a tree. The cursor knows the position of each value,
// so that callers can copy parts unchanged.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline python {

/// A value, or the start of an array or a map.
struct MsgpackValue {
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
  /// Returns the content of a text, a binary value or an extension.
  std::string_view text() const {
    return {reinterpret_cast<const char*>(content.data()), content.size()};
  }
  bool is_text(std::string_view wanted) const { return type == Type::text && text() == wanted; }

  Type type = Type::nil;
  bool boolean = false;
  std::int64_t integer = 0;
  std::uint64_t unsigned_integer = 0;
  double floating = 0;
  std::size_t size = 0;       ///< of an array or a map; at most what the bytes can hold
  codec::Bytes content;       ///< of a text, a binary value or an extension; borrowed
  std::int8_t extension = 0;  ///< the type of an extension
};

/// Borrows the bytes. Throws codec::Error(malformed) if the bytes end early, are not msgpack, or
/// hold a value of another type than the caller wants.
class MsgpackCursor {
 public:
  explicit MsgpackCursor(codec::Bytes bytes, std::size_t position = 0)
      : bytes_(bytes), position_(position) {}

  std::size_t position() const { return position_; }
  bool at_end() const { return position_ == bytes_.size(); }
  /// Takes a value. The values of an array, or the keys and values of a map, come next.
  MsgpackValue take();
  /// Skips a whole value.
  void skip() { skip_values(1); }
  /// Returns the number of pairs of a map, which follow. It is at most what the bytes can hold.
  std::size_t read_map();
  /// The result is valid as long as the bytes.
  std::string_view read_text();
  /// Returns an integer of at least 0. Skips any other value and returns nullopt.
  std::optional<std::uint64_t> read_count();
  /// Returns a text. Skips any other value and returns nullopt.
  std::optional<std::string_view> read_if_text();

 private:
  /// Takes a value of this type. Skips any other value and returns nullopt.
  std::optional<MsgpackValue> take_if(MsgpackValue::Type type);
  MsgpackValue take_expected(MsgpackValue::Type type, const char* what);
  void skip_values(std::uint64_t count);
  void require(std::uint64_t size) const;
  std::uint64_t number(std::size_t size);
  MsgpackValue content(MsgpackValue::Type type, std::uint64_t size);
  MsgpackValue container(MsgpackValue::Type type, std::uint64_t size, std::size_t least_bytes);
  MsgpackValue extension(std::uint64_t size);

  codec::Bytes bytes_;
  std::size_t position_ = 0;
};

}  // namespace bloscfs::frame::inline python
