#include "frame/choosing/trial.hpp"

#include <algorithm>

namespace bloscfs::frame::inline choosing {
namespace {

/// An unusual item size has to save one part in this many.
constexpr std::size_t kRecordWorthwhile = 10;

}  // namespace

codec::ChunkEncoder& Trial::encoder(const codec::EncodeSettings& settings) {
  codec::ChunkEncoder& encoder = encoders_.try_emplace(settings.clevel, settings).first->second;
  encoder.use(settings);
  return encoder;
}

std::size_t Trial::stored_size(const codec::EncodeSettings& settings) {
  codec::ChunkEncoder& encoder = this->encoder(settings);
  const auto typesize = static_cast<std::size_t>(settings.typesize);
  std::size_t stored = 0;
  for (const codec::Bytes piece : pieces_) {
    const codec::Bytes whole =
        piece.size() < typesize ? piece : piece.first(piece.size() - piece.size() % typesize);
    buffer_.resize(std::max(buffer_.size(), codec::ChunkEncoder::max_stored_size(whole.size())));
    stored += encoder.encode_into(whole, buffer_).stored + (piece.size() - whole.size());
  }
  return std::max<std::size_t>(stored, 1);
}

Candidate Trial::candidate(const codec::EncodeSettings& settings) {
  std::size_t nbytes = 0;
  for (const codec::Bytes piece : pieces_) nbytes += piece.size();
  const auto stored = static_cast<double>(stored_size(settings));
  return {settings, stored / static_cast<double>(std::max<std::size_t>(nbytes, 1))};
}

std::optional<std::int32_t> find_record_size(codec::Bytes sample, std::int32_t step,
                                             const std::function<bool()>& should_continue) {
  Trial trial({sample});
  std::size_t best_usual = 0, best_size = 0;
  std::int32_t best = 0;
  for (std::int32_t typesize = 1; typesize <= kMaxRecord && should_continue(); typesize++) {
    const bool usual = std::ranges::count(kUsualTypesizes, typesize) > 0;
    if (!usual && typesize % step != 0) continue;
    codec::EncodeSettings settings;
    settings.codec = codec::CodecId::lz4;
    settings.typesize = typesize;
    settings.split = codec::SplitMode::never;
    if (typesize > 1) settings.filters.back() = {codec::FilterId::shuffle, 0};
    const std::size_t size = trial.stored_size(settings);
    if (usual && (best_usual == 0 || size < best_usual)) best_usual = size;
    // A multiple of the record size is not a better item size, unless it saves one part in
    // kRecordWorthwhile, too.
    if (usual || (best != 0 && size >= best_size - best_size / kRecordWorthwhile)) continue;
    best = typesize;
    best_size = size;
  }
  if (best == 0 || best_size >= best_usual - best_usual / kRecordWorthwhile) return std::nullopt;
  return best;
}

}  // namespace bloscfs::frame::inline choosing
