#include "codec/compressor/compressor.hpp"

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
};

constexpr Entry kCodecs[] = {
    {CodecId::blosclz, make_blosclz_decompressor}, {CodecId::lz4, make_lz4_decompressor},
    {CodecId::lz4hc, make_lz4_decompressor},       {CodecId::snappy, make_snappy_decompressor},
    {CodecId::zlib, make_zlib_decompressor},       {CodecId::zstd, make_zstd_decompressor},
};

}  // namespace

std::unique_ptr<Decompressor> make_decompressor(CodecId id) {
  for (const Entry& entry : kCodecs) {
    if (entry.id == id) return entry.make_decompressor();
  }
  return nullptr;
}

}  // namespace bloscfs::codec
