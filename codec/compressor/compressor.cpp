#include "codec/compressor/compressor.hpp"

#include <algorithm>
#include <iterator>

#include "codec/compressor/blosclz.hpp"
#include "codec/compressor/lz4.hpp"
#include "codec/compressor/snappy.hpp"
#include "codec/compressor/zlib.hpp"
#include "codec/compressor/zstd.hpp"

namespace bloscfs::codec {
namespace {

struct Entry {
  CodecId id;
  std::unique_ptr<Decompressor> (*make_decompressor)();
  std::unique_ptr<Compressor> (*make_compressor)(int clevel);  ///< null: only read
};

constexpr Entry kCodecs[] = {
    {CodecId::blosclz, make_blosclz_decompressor, make_blosclz_compressor},
    {CodecId::lz4, make_lz4_decompressor, make_lz4_compressor},
    {CodecId::lz4hc, make_lz4_decompressor, make_lz4hc_compressor},
    {CodecId::snappy, make_snappy_decompressor, nullptr},
    {CodecId::zlib, make_zlib_decompressor, make_zlib_compressor},
    {CodecId::zstd, make_zstd_decompressor, make_zstd_compressor},
};

const Entry* find_codec(CodecId id) {
  const auto* const found = std::find_if(std::begin(kCodecs), std::end(kCodecs),
                                         [id](const Entry& entry) { return entry.id == id; });
  return found == std::end(kCodecs) ? nullptr : found;
}

}  // namespace

std::unique_ptr<Decompressor> make_decompressor(CodecId id) {
  const Entry* const codec = find_codec(id);
  return codec == nullptr ? nullptr : codec->make_decompressor();
}

bool can_compress(CodecId id) {
  const Entry* const codec = find_codec(id);
  return codec != nullptr && codec->make_compressor != nullptr;
}

std::unique_ptr<Compressor> make_compressor(CodecId id, int clevel) {
  return can_compress(id) ? find_codec(id)->make_compressor(clevel) : nullptr;
}

}  // namespace bloscfs::codec
