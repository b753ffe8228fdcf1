#include "codec/compressor/codec_table.hpp"

#include <algorithm>
#include <iterator>

#include "codec/compressor/blosclz.hpp"
#include "codec/compressor/lz4.hpp"
#include "codec/compressor/ndlz.hpp"
#include "codec/compressor/snappy.hpp"
#include "codec/compressor/zfp.hpp"
#include "codec/compressor/zlib.hpp"
#include "codec/compressor/zstd.hpp"
#include "codec/names.hpp"

namespace bloscfs::codec {
namespace {

constexpr CodecRow zfp_row(CodecId id, const char* name, const char* parameter) {
  return {.id = id,
          .name = name,
          .parameter = parameter,
          .loss = Loss::every_time,
          .depends_on_shape = true,
          .problem = zfp_problem,
          .decode_memory = zfp_memory,
          .make_decompressor = make_zfp_decompressor,
          .make_compressor = make_zfp_compressor};
}

constexpr CodecRow kCodecRows[] = {
    {.id = CodecId::blosclz,
     .name = "blosclz",
     .stream_format = 0,
     .is_fast = true,
     .splits_up_to_level = kMaxLevel,
     .make_decompressor = make_blosclz_decompressor,
     .make_compressor = make_blosclz_compressor},
    {.id = CodecId::lz4,
     .name = "lz4",
     .stream_format = 1,
     .takes_dictionary = true,
     .is_fast = true,
     .splits_up_to_level = kMaxLevel,
     .make_decompressor = make_lz4_decompressor,
     .make_compressor = make_lz4_compressor},
    {.id = CodecId::lz4hc,
     .name = "lz4hc",
     .stream_format = 1,
     .takes_dictionary = true,
     .slow_on_noise_from_level = 1,
     .make_decompressor = make_lz4_decompressor,
     .make_compressor = make_lz4hc_compressor},
    {.id = CodecId::snappy,
     .name = "snappy",
     .stream_format = 2,
     .needs_short_header = true,
     .make_decompressor = make_snappy_decompressor},
    {.id = CodecId::zlib,
     .name = "zlib",
     .stream_format = 3,
     .slow_on_noise_from_level = 1,
     .make_decompressor = make_zlib_decompressor,
     .make_compressor = make_zlib_compressor},
    {.id = CodecId::zstd,
     .name = "zstd",
     .stream_format = 4,
     .takes_dictionary = true,
     .splits_up_to_level = 5,
     .slow_on_noise_from_level = 2,  // level 1 gives up on noise faster than a check would
     .make_decompressor = make_zstd_decompressor,
     .make_compressor = make_zstd_compressor},
    {.id = CodecId::ndlz,
     .name = "ndlz",
     .parameter = ":SIDE",
     .usual_parameter = 4,
     .depends_on_shape = true,
     .takes_single_bytes = true,
     .problem = ndlz_problem,
     .make_decompressor = make_ndlz_decompressor,
     .make_compressor = make_ndlz_compressor},
    zfp_row(CodecId::zfp_accuracy, "zfp_accuracy", ":EXPONENT"),
    zfp_row(CodecId::zfp_precision, "zfp_precision", ":BITS"),
    zfp_row(CodecId::zfp_rate, "zfp_rate", ":PERCENT"),
    {.id = CodecId::openhtj2k, .name = "openhtj2k"},
    {.id = CodecId::grok, .name = "grok"},
    {.id = CodecId::openzl, .name = "openzl"},
    {.id = CodecId::j2k, .name = "j2k"},
    {.id = CodecId::htj2k, .name = "htj2k"},
};

}  // namespace

std::span<const CodecRow> codec_rows() { return kCodecRows; }

const CodecRow* find_codec(CodecId id) {
  const auto* const found = std::find_if(std::begin(kCodecRows), std::end(kCodecRows),
                                         [id](const CodecRow& row) { return row.id == id; });
  return found == std::end(kCodecRows) ? nullptr : found;
}

std::unique_ptr<Decompressor> make_decompressor(CodecId id) {
  const CodecRow* const codec = find_codec(id);
  return codec != nullptr && codec->make_decompressor != nullptr ? codec->make_decompressor()
                                                                 : nullptr;
}

bool can_compress(CodecId id) {
  const CodecRow* const codec = find_codec(id);
  return codec != nullptr && codec->make_compressor != nullptr;
}

CodecUse codec_use(const ChunkHeader& header, Bytes dictionary) {
  return {.dictionary = dictionary,
          .id = header.codec,
          .meta = header.codec_meta,
          .typesize = header.full_typesize,
          .shape = header.block_shape};
}

std::string codec_problem(const ChunkHeader& header) {
  const std::string codec = "codec " + codec_name(header.codec);
  if (!can_compress(header.codec)) return codec + " cannot be written";
  const CodecRow& row = *find_codec(header.codec);
  // A lossy codec would lose digits of filtered bytes, which are no numbers any more.
  if (row.loss == Loss::every_time && header.is_filtered()) return codec + ": takes no filters";
  if (row.problem == nullptr) return {};
  const std::int64_t size = header.blocksize;
  const std::string problem = row.problem(codec_use(header), size / header.stream_count(size));
  return problem.empty() ? problem : codec + ": " + problem;
}

std::unique_ptr<Compressor> make_compressor(CodecId id, int clevel) {
  return can_compress(id) ? find_codec(id)->make_compressor(clevel) : nullptr;
}

}  // namespace bloscfs::codec
