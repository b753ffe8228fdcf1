#include "codec/encode_settings.hpp"

#include <string>

#include "codec/block_size.hpp"
#include "codec/compressor/codec_table.hpp"
#include "codec/error.hpp"
#include "codec/filter/filter_table.hpp"
#include "codec/filter/pipeline.hpp"
#include "codec/names.hpp"

namespace bloscfs::codec {
namespace {

constexpr std::int32_t kMaxHeaderTypesize = 255;

[[noreturn]] void refuse(const std::string& what) { throw Error(FormatErrc::unwritable, what); }

void check_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most) {
    refuse(name + (" " + std::to_string(value)) + " outside " + std::to_string(least) + ".." +
           std::to_string(most));
  }
}

/// Returns the part of the header that is the same for all chunks with these settings.
ChunkHeader common_header(const EncodeSettings& settings) {
  ChunkHeader h;
  h.version = settings.blosc1_header ? kChunkVersionBlosc1 : kChunkVersionBlosc2;
  h.header_size = settings.blosc1_header ? kShortHeaderSize : kExtendedHeaderSize;
  h.full_typesize = settings.typesize;
  h.typesize = settings.typesize > kMaxHeaderTypesize ? 1 : settings.typesize;
  h.codec = settings.codec;
  h.codec_meta = settings.codec_meta;
  h.block_shape = settings.block_shape;
  h.filters = settings.filters;
  return h;
}

/// True if the only filter, if any, is one of the two shuffles. Blosc1's flags have a bit for delta
/// too, but C-Blosc 1.21 refuses it.
bool fits_blosc1(const EncodeSettings& settings) {
  int active = 0;
  for (const FilterStep& step : settings.filters) {
    if (step.id == FilterId::none) continue;
    const bool shuffle = step.id == FilterId::shuffle || step.id == FilterId::bitshuffle;
    if (!shuffle || step.meta != 0 || ++active > 1) return false;
  }
  return true;
}

std::int32_t whole_word(const ChunkHeader& h, const FilterStep& step) {
  const FilterRow* const filter = find_filter(step.id);
  return filter != nullptr && filter->whole_word != nullptr ? filter->whole_word(h, step) : 1;
}

/// True if the filter can be applied to all blocks of the chunk, such that readers restore the
/// contents.
bool fits_chunk(const ChunkHeader& h, const FilterStep& step) {
  const FilterRow* const filter = find_filter(step.id);
  if (filter != nullptr && filter->depends_on_shape)
    return h.nbytes % h.blocksize == 0 && filter->problem(h, step, false).empty();
  const std::int32_t word = whole_word(h, step);
  return h.nbytes % word == 0 && (h.block_count <= 1 || h.blocksize % word == 0);
}

}  // namespace

void check_settings(const EncodeSettings& settings) {
  check_range("compression level", settings.clevel, 0, 9);
  check_range("item size", settings.typesize, 1, kMaxBlocksize);
  check_range("block size", settings.blocksize, 0, kMaxBlocksize);
  check_range("split mode", static_cast<int>(settings.split), 1, 4);
  ChunkHeader h = common_header(settings);
  h.blocksize = settings.blocksize;
  h.dont_split = !splits_blocks(settings, h.blocksize);
  for (const std::string& problem : {codec_problem(h), filter_problem(h)}) {
    if (!problem.empty()) refuse(problem);
  }
  if (settings.use_dictionary && !find_codec(settings.codec)->takes_dictionary) {
    refuse("codec " + codec_name(settings.codec) + " takes no dictionary");
  }
  if (!settings.blosc1_header) return;
  if (!fits_blosc1(settings)) refuse("filters that Blosc1 does not know");
  if (settings.codec >= CodecId::ndlz) refuse("a codec that Blosc1 does not know");
  if (settings.use_dictionary) refuse("a dictionary in a chunk for Blosc1");
  check_range("item size for Blosc1", settings.typesize, 1, kMaxHeaderTypesize);
}

ChunkHeader plan_chunk(const EncodeSettings& settings, std::int32_t nbytes) {
  ChunkHeader h = common_header(settings);
  h.nbytes = nbytes;
  h.blocksize = choose_blocksize(settings, nbytes);
  h.block_count = ceil_div(nbytes, h.blocksize);
  h.dont_split = !splits_blocks(settings, h.blocksize);
  for (FilterStep& step : h.filters) {
    if (!fits_chunk(h, step)) step = {};
  }
  return h;
}

}  // namespace bloscfs::codec
