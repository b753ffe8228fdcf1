#pragma once
// Limits the work of a search for chunks in proportion to the file's size. A hostile file may have
// bytes that only look like chunks, or chunks that claim to hold far more than the file.

#include <algorithm>
#include <cstdint>

namespace bloscfs::frame::inline repair {

class Effort {
 public:
  /// `stored` is the size of a file, or of all files of a directory. `nbytes` is the expected size
  /// of its contents.
  Effort(std::uint64_t stored, std::int64_t nbytes)
      : sound_(kSoundFactor * std::min(stored, kMost) + kSoundLeast +
               2 * std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(0, nbytes)), kMost)),
        vain_(kVainFactor * std::min(stored, kMost) + kVainLeast) {}

  /// Counts bytes, stored or decoded, that the search examined and that were a chunk.
  void charge_chunk(std::uint64_t bytes) { sound_ -= std::min(sound_, bytes); }
  /// Counts bytes that were not a chunk.
  void charge_rejected(std::uint64_t bytes) { vain_ -= std::min(vain_, kLook + bytes); }
  bool is_exhausted() const { return sound_ == 0 || vain_ == 0; }

 private:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 48;
  /// Contents rarely compress better than 1:256.
  static constexpr std::uint64_t kSoundFactor = 256, kSoundLeast = std::uint64_t{16} << 30;
  static constexpr std::uint64_t kVainFactor = 16, kVainLeast = std::uint64_t{1} << 30;
  /// The cost of opening and rejecting a candidate, in bytes decoded in the same time.
  static constexpr std::uint64_t kLook = 16384;

  // Bytes that the search may still examine in chunks, and in candidates that are no chunks.
  std::uint64_t sound_, vain_;
};

}  // namespace bloscfs::frame::inline repair
