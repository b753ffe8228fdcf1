#pragma once
// Walks msgpack bytes value by value, without a tree of them, and knows where each stands, so that
// parts can be copied as they are.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline python {

/// A value, or what begins an array or a map.
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
  /// Of texts, binary values and extensions.
  std::string_view text() const {
    return {reinterpret_cast<const char*>(content.data()), content.size()};
  }
  bool is_text(std::string_view wanted) const { return type == Type::text && text() == wanted; }

  Type type = Type::nil;
  bool boolean = false;
  std::int64_t integer = 0;
  std::uint64_t unsigned_integer = 0;
  double floating = 0;
  std::size_t size = 0;       ///< of arrays and maps; no more than the bytes can hold
  codec::Bytes content;       ///< of texts, binary values and extensions; borrowed
  std::int8_t extension = 0;  ///< its type
};

/// Borrows the bytes. Throws codec::Error(malformed) where they end early, are no msgpack, or are
/// something else than what is asked for.
class MsgpackCursor {
 public:
  explicit MsgpackCursor(codec::Bytes bytes, std::size_t position = 0)
      : bytes_(bytes), position_(position) {}

  std::size_t position() const { return position_; }
  bool at_end() const { return position_ == bytes_.size(); }
  /// The values of an array, and the keys and values of a map, come next.
  MsgpackValue take();
  /// Passes over a whole value.
  void skip() { skip_values(1); }
  /// The number of pairs of a map, which follow. No more than there can be.
  std::size_t read_map();
  /// Valid as long as the bytes.
  std::string_view read_text();
  /// A value that is an integer of 0 and above; nothing for any other, which is skipped.
  std::optional<std::uint64_t> read_count();
  /// A value that is a text; nothing for any other, which is skipped.
  std::optional<std::string_view> read_if_text();

 private:
  /// Takes a value. One of another type is skipped.
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
