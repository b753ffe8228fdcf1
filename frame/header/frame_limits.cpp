#include "frame/header/frame_limits.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <vector>

#include "codec/chunk_format.hpp"
#include "codec/error.hpp"
#include "frame/header/b2nd.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/header/metalayer_writer.hpp"
#include "frame/store/throw_errno.hpp"
#include "frame/stored/table_writer.hpp"

namespace bloscfs::frame::inline header {
namespace {

constexpr std::int64_t kMaxStored = std::numeric_limits<std::int32_t>::max();
/// Bytes of a trailer that stay free for vlmetalayers other than the checksums.
constexpr std::int64_t kVlmetalayerRoom = std::int64_t{128} << 20;

/// Returns the most entries of a table that takes at most `stored` bytes.
std::int64_t max_entries(std::int64_t stored) {
  std::int64_t fits = 0, too_many = codec::kMaxChunkNbytes / 8 + 1;
  while (too_many - fits > 1) {
    const std::int64_t count = fits + (too_many - fits) / 2;
    (TableWriter::max_stored_size(count) <= stored ? fits : too_many) = count;
  }
  return std::min(fits, kMaxChunks);
}

}  // namespace

std::int64_t max_chunk_count(bool checksums) {
  static const std::int64_t kPlain = max_entries(kMaxStored);
  static const std::int64_t kWithChecksums = max_entries(kMaxStored - kVlmetalayerRoom);
  return checksums ? kWithChecksums : kPlain;
}

std::optional<std::int64_t> array_chunk_count(const ArrayInfo& array, std::int32_t typesize) {
  try {
    const ArraySizes sizes = array_sizes(array, typesize);
    return sizes.nbytes / std::max<std::int64_t>(1, sizes.chunksize);
  } catch (const codec::Error&) {
    return std::nullopt;
  }
}

void check_vlmetalayers(const Snapshot* base, const VlmetalayerSizes& changes) {
  std::vector<LayerSize> sizes;
  std::int64_t checksums = 0;
  const auto layers = base == nullptr ? std::vector<MetalayerEntry>() : base->vlmetalayers();
  for (const MetalayerEntry& layer : layers) {
    if (layer.name == kChecksumLayerName)
      checksums = TableWriter::max_stored_size(std::max<std::int64_t>(1, base->info().nchunks));
    else if (changes.count(layer.name) == 0)
      sizes.push_back({layer.name, layer.stored_size});
  }
  for (const auto& [name, size] : changes) {
    if (!size) continue;
    if (name == kChecksumLayerName) throw_errno(EPERM, name);
    sizes.push_back({name, *size + codec::kExtendedHeaderSize});
  }
  sizes.push_back({kChecksumLayerName, static_cast<std::uint64_t>(checksums)});
  // Throws if the layers do not fit. The layout itself is not needed.
  lay_out_trailer(sizes);
}

}  // namespace bloscfs::frame::inline header
