#include "tests/codec/encoding.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "codec/names.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/draw.hpp"

namespace bloscfs::test {
namespace {

using codec::CodecId;
using codec::EncodeSettings;
using codec::FilterId;
using codec::FilterStep;

/// Chooses perhaps delta, then up to two other filters, from one of the first slots on. Empty slots
/// may lie between.
void choose_filters(Random& random, EncodeSettings& settings) {
  std::size_t slot = static_cast<std::size_t>(between(random, 0, 2));
  if (between(random, 0, 4) == 0) settings.filters[slot++] = {FilterId::delta, 0};
  const bool float_size = settings.typesize == 4 || settings.typesize == 8;
  for (int i = between(random, 0, 2); i > 0; --i) {
    FilterStep step{pick<FilterId>(random, {FilterId::shuffle, FilterId::bitshuffle,
                                            FilterId::bytedelta, FilterId::trunc_prec}),
                    0};
    if (step.id == FilterId::trunc_prec) {
      if (!float_size) continue;
      step.meta = static_cast<std::uint8_t>(between(random, 1, 20));
    }
    if (step.id == FilterId::bytedelta && between(random, 0, 1) == 0) {
      step.meta = static_cast<std::uint8_t>(between(random, 1, 255));
    }
    settings.filters[slot++] = step;
  }
}

void choose_for_blosc1(Random& random, EncodeSettings& settings) {
  settings.blosc1_header = true;
  settings.typesize = between(random, 1, 40);
  settings.use_dictionary = false;
  settings.filters = {};
  settings.filters[5].id =
      pick<FilterId>(random, {FilterId::none, FilterId::shuffle, FilterId::bitshuffle});
}

}  // namespace

EncodeSettings make_settings(CodecId codec, int clevel, std::int32_t typesize,
                             std::initializer_list<FilterStep> filters) {
  EncodeSettings settings;
  settings.codec = codec;
  settings.clevel = clevel;
  settings.typesize = typesize;
  std::copy(filters.begin(), filters.end(),
            settings.filters.end() - static_cast<std::ptrdiff_t>(filters.size()));
  return settings;
}

EncodeSettings random_settings(Random& random) {
  EncodeSettings settings;
  settings.codec = pick<CodecId>(
      random, {CodecId::blosclz, CodecId::lz4, CodecId::lz4hc, CodecId::zlib, CodecId::zstd});
  settings.clevel = between(random, 0, 9);
  settings.typesize = pick<std::int32_t>(
      random, {1, 2, 4, 4, 8, 8, 16, between(random, 1, 64), between(random, 200, 400)});
  if (between(random, 0, 2) == 0) settings.blocksize = between(random, 1, 100000);
  settings.split = static_cast<codec::SplitMode>(between(random, 1, 4));
  settings.use_dictionary = between(random, 0, 4) == 0 && settings.codec != CodecId::blosclz &&
                            settings.codec != CodecId::zlib;
  choose_filters(random, settings);
  if (between(random, 0, 5) == 0) choose_for_blosc1(random, settings);
  return settings;
}

ByteVector random_contents(Random& random, const EncodeSettings& settings) {
  const auto typesize = static_cast<std::size_t>(settings.typesize);
  std::size_t size = static_cast<std::size_t>(pick<int>(
      random, {between(random, 0, 100), between(random, 0, 5000), between(random, 0, 300000)}));
  if (between(random, 0, 2) > 0) size -= size % typesize;
  return make_contents(pick(random, content_kinds()), random(), size, typesize);
}

bool is_lossless(const EncodeSettings& settings) {
  return std::none_of(settings.filters.begin(), settings.filters.end(), [](const FilterStep& step) {
    return step.id == FilterId::trunc_prec || step.id == FilterId::int_trunc;
  });
}

std::string describe(const EncodeSettings& settings, std::size_t nbytes) {
  std::string text = std::to_string(nbytes) + " bytes, " + codec::codec_name(settings.codec) + "-" +
                     std::to_string(settings.clevel) + ", typesize " +
                     std::to_string(settings.typesize) + ", blocksize " +
                     std::to_string(settings.blocksize) + ", split " +
                     std::to_string(static_cast<int>(settings.split));
  for (const FilterStep& step : settings.filters) {
    if (step.id == FilterId::none) continue;
    text += ", " + codec::filter_name(step.id) + ":" + std::to_string(step.meta);
  }
  return text + (settings.use_dictionary ? ", dictionary" : "") +
         (settings.blosc1_header ? ", for Blosc1" : "");
}

std::uint64_t test_seed() {
  const char* const given = std::getenv("BLOSCFS_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device()();
  std::printf("BLOSCFS_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

ByteVector stored_bytes(const codec::EncodedChunk& chunk, std::size_t nbytes,
                        std::int32_t typesize) {
  if (chunk.special == codec::SpecialValue::none) return chunk.bytes;
  ChunkPlan plan;
  plan.flags = 0x05;
  plan.typesize = static_cast<std::uint8_t>(typesize > 255 ? 1 : typesize);
  plan.nbytes = static_cast<std::int32_t>(nbytes);
  plan.blocksize = plan.nbytes;
  plan.blosc2_flags = static_cast<std::uint8_t>(static_cast<int>(chunk.special) << 4);
  return build_header(plan, 32);
}

}  // namespace bloscfs::test
