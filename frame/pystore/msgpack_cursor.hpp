#pragma once
// Walks msgpack bytes value by value, and knows where each stands, so that parts can be copied as
// they are.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline pystore {

/// Borrows the bytes. Throws codec::Error(malformed) where they end early, or are something else
/// than what is asked for.
class MsgpackCursor {
 public:
  explicit MsgpackCursor(codec::Bytes bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  bool at_end() const { return position_ == bytes_.size(); }
  /// The number of pairs of a map, which follow. No more than there can be.
  std::size_t read_map();
  /// Valid as long as the bytes.
  std::string_view read_text();
  /// A value that is an integer of 0 and above; nothing for any other, which is skipped.
  std::optional<std::uint64_t> read_count();
  /// A value that is a text; nothing for any other, which is skipped.
  std::optional<std::string_view> read_if_text();
  void skip();

 private:
  std::uint8_t peek() const;
  std::uint64_t take_number(std::size_t size);

  codec::Bytes bytes_;
  std::size_t position_ = 0;
};

}  // namespace bloscfs::frame::inline pystore
