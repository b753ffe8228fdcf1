#pragma once
// How much work a search for chunks may do: what looks like chunks and is none, or claims to hold
// far more than the file has, costs no more than in proportion to the file's size.

#include <algorithm>
#include <cstdint>

namespace bloscfs::frame::inline repair {

class Effort {
 public:
  /// For a file, or a directory's files, of so many bytes; `nbytes` of contents are expected of it.
  Effort(std::uint64_t stored, std::int64_t nbytes)
      : sound_(kSoundFactor * std::min(stored, kMost) + kSoundLeast +
               2 * std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(0, nbytes)), kMost)),
        vain_(kVainFactor * std::min(stored, kMost) + kVainLeast) {}

  /// Bytes, stored or decoded, that were looked at for what turned out to be a chunk.
  void spend_on_chunk(std::uint64_t bytes) { sound_ -= std::min(sound_, bytes); }
  /// The same for what is none.
  void spend_in_vain(std::uint64_t bytes) { vain_ -= std::min(vain_, kLook + bytes); }
  bool is_exhausted() const { return sound_ == 0 || vain_ == 0; }

 private:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 48;
  /// Contents rarely compress better than this.
  static constexpr std::uint64_t kSoundFactor = 256, kSoundLeast = std::uint64_t{16} << 30;
  static constexpr std::uint64_t kVainFactor = 16, kVainLeast = std::uint64_t{1} << 30;
  /// What opening and refusing one takes, as bytes that are decoded in that time.
  static constexpr std::uint64_t kLook = 16384;

  std::uint64_t sound_, vain_;
};

}  // namespace bloscfs::frame::inline repair
