#pragma once
// Measures how many bytes settings store samples in.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "codec/bytes.hpp"
#include "codec/chunk_encoder.hpp"
#include "codec/encode_settings.hpp"

namespace bloscfs::frame::inline choosing {

/// Settings that were tried. A block size of 0 means the default of codec and level.
struct Candidate {
  codec::EncodeSettings settings;
  double stored = 1;  ///< bytes for each byte of contents, above 0
};

/// Bytes of contents that settings are chosen by, if the contents have that many.
inline constexpr std::size_t kChoiceSample = std::size_t{8} << 20;

/// Tries settings on pieces of contents, which must outlive it. For use by one thread.
class Trial {
 public:
  explicit Trial(std::vector<codec::Bytes> pieces) : pieces_(std::move(pieces)) {}

  const std::vector<codec::Bytes>& pieces() const { return pieces_; }
  /// Returns the stored size of the pieces, each encoded as a chunk of whole items. Bytes behind
  /// the last item count as they are. Returns at least 1, so that callers can divide by it.
  std::size_t stored_size(const codec::EncodeSettings& settings);
  /// Returns the settings with the stored size per byte of contents.
  Candidate candidate(const codec::EncodeSettings& settings);

 private:
  codec::ChunkEncoder& encoder(const codec::EncodeSettings& settings);

  std::vector<codec::Bytes> pieces_;
  std::vector<std::uint8_t> buffer_;
  std::map<int, codec::ChunkEncoder> encoders_;  ///< by level
};

/// Item sizes to try with shuffle if the size is not known.
inline constexpr std::int32_t kUsualTypesizes[] = {1, 2, 4, 8};
/// Filters support no larger items.
inline constexpr std::int32_t kMaxFilteredItem = 255;

/// Returns the record size with which shuffled bytes compress best, if there seem to be records. It
/// is not a usual item size, but a multiple of `step` up to kMaxRecord, and saves a tenth over all
/// usual sizes. Calls `should_continue` before each try.
std::optional<std::int32_t> find_record_size(
    codec::Bytes sample, std::int32_t step = 1,
    const std::function<bool()>& should_continue = [] { return true; });
/// Most bytes of a record to look for.
inline constexpr std::int32_t kMaxRecord = 64;

}  // namespace bloscfs::frame::inline choosing
