#pragma once
// What samples of contents are stored in with settings that are tried.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "codec/bytes.hpp"
#include "codec/chunk_encoder.hpp"
#include "codec/encode_settings.hpp"

namespace bloscfs::frame::inline choosing {

/// Settings that were tried. A block size of 0 is the one by codec and level.
struct Candidate {
  codec::EncodeSettings settings;
  double stored = 1;  ///< bytes for each byte of contents, above 0
};

/// Bytes of contents that settings are chosen by, if there are as many.
inline constexpr std::size_t kChoiceSample = std::size_t{8} << 20;

/// Pieces of contents, which outlive it. For one thread.
class Trial {
 public:
  explicit Trial(std::vector<codec::Bytes> pieces) : pieces_(std::move(pieces)) {}

  const std::vector<codec::Bytes>& pieces() const { return pieces_; }
  /// Bytes that they are stored in, chunk by chunk of whole items; at least 1, so that sizes can be
  /// divided. What behind the items is left of a piece counts as it is.
  std::size_t stored_size(const codec::EncodeSettings& settings);
  /// The same in proportion.
  Candidate candidate(const codec::EncodeSettings& settings);

 private:
  codec::ChunkEncoder& encoder(const codec::EncodeSettings& settings);

  std::vector<codec::Bytes> pieces_;
  std::vector<std::uint8_t> buffer_;
  std::map<int, codec::ChunkEncoder> encoders_;  ///< by level
};

/// Sizes of items that shuffling is tried with where nobody knows it.
inline constexpr std::int32_t kUsualTypesizes[] = {1, 2, 4, 8};
/// Filters know no larger items.
inline constexpr std::int32_t kMaxFilteredItem = 255;

/// The size of records that shuffled bytes compress best with, if there seem to be some: none of
/// the usual sizes but a multiple of `step` up to kMaxRecord, that saves a tenth over all of these.
/// `may_go_on` is asked before each try.
std::optional<std::int32_t> find_record_size(
    codec::Bytes sample, std::int32_t step = 1,
    const std::function<bool()>& may_go_on = [] { return true; });
/// Bytes of a record, of which nobody said that it is one.
inline constexpr std::int32_t kMaxRecord = 64;

}  // namespace bloscfs::frame::inline choosing
