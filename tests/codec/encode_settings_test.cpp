// Which settings are allowed, and the sizes that follow from them.
#include "codec/encode_settings.hpp"

#include <boost/test/unit_test.hpp>

#include "codec/block_size.hpp"
#include "codec/error.hpp"
#include "tests/codec/encoding.hpp"

namespace bloscfs::test {
namespace {

using codec::CodecId;
using codec::EncodeSettings;
using codec::FilterId;
using codec::FilterStep;
using codec::SplitMode;

constexpr std::int32_t kMi = 1 << 20;

/// Returns why the settings are refused; an empty string if they are not.
std::string refusal(const EncodeSettings& settings) {
  try {
    codec::check_settings(settings);
  } catch (const codec::Error& error) {
    BOOST_TEST((error.code() == std::errc::invalid_argument));
    return error.what();
  }
  return {};
}

std::string filter_refusal(std::int32_t typesize, std::initializer_list<FilterStep> filters) {
  return refusal(make_settings(CodecId::lz4, 5, typesize, filters));
}

/// Returns the size of blocks in a chunk of 8 MiB, as a negative number if they are split.
std::int32_t blocks(CodecId id, int level, std::int32_t typesize, FilterStep filter = kShuffle) {
  const EncodeSettings settings = make_settings(id, level, typesize, {filter});
  const std::int32_t size = codec::choose_blocksize(settings, 8 * kMi);
  return codec::splits_blocks(settings, size) ? -size : size;
}

void check_blocks(CodecId id, std::int32_t typesize, const std::vector<std::int32_t>& expected) {
  for (int level = 0; level <= 9; ++level) {
    BOOST_TEST(blocks(id, level, typesize) == expected[static_cast<std::size_t>(level)],
               "level " << level << ", typesize " << typesize);
  }
}

BOOST_AUTO_TEST_SUITE(encode_settings)

BOOST_AUTO_TEST_CASE(refuses_codecs_that_are_only_read) {
  BOOST_TEST(refusal(make_settings(CodecId::snappy, 5, 1)) == "codec snappy cannot be written");
  BOOST_TEST(refusal(make_settings(CodecId::grok, 5, 1)) == "codec grok cannot be written");
}

BOOST_AUTO_TEST_CASE(refuses_numbers_out_of_range) {
  BOOST_TEST(refusal(make_settings(CodecId::lz4, 10, 1)) == "compression level 10 outside 0..9");
  BOOST_TEST(refusal(make_settings(CodecId::lz4, -1, 1)) == "compression level -1 outside 0..9");
  BOOST_TEST(refusal(make_settings(CodecId::lz4, 5, 0)) == "item size 0 outside 1..536866816");
  EncodeSettings settings = make_settings(CodecId::lz4, 5, 1);
  settings.blocksize = 536866817;
  BOOST_TEST(refusal(settings) == "block size 536866817 outside 0..536866816");
  settings.blocksize = 0;
  settings.split = static_cast<SplitMode>(5);
  BOOST_TEST(refusal(settings) == "split mode 5 outside 1..4");
}

BOOST_AUTO_TEST_CASE(refuses_filters_that_cannot_be_written) {
  BOOST_TEST(filter_refusal(4, {kDelta, kShuffle}) == "");
  BOOST_TEST(filter_refusal(4, {kShuffle, kDelta}) ==
             "delta behind another filter: readers disagree about what it means");
  BOOST_TEST(filter_refusal(4, {{FilterId::trunc_prec, 10}, kDelta}) != "");
  BOOST_TEST(filter_refusal(4, {kDelta, kDelta}) != "");
  BOOST_TEST(filter_refusal(1, {{FilterId::bytedelta_old, 1}}) ==
             "filter bytedelta_old cannot be written");
  BOOST_TEST(filter_refusal(1, {{FilterId::ndcell, 4}}) ==
             "filter ndcell: needs the shape of an array's blocks");
}

BOOST_AUTO_TEST_CASE(refuses_truncations_that_leave_nothing) {
  const auto precision = [](std::int32_t typesize, int bits) {
    return filter_refusal(typesize, {{FilterId::trunc_prec, static_cast<std::uint8_t>(bits)}});
  };
  for (const int bits : {1, 10, 23, -1, -22}) BOOST_TEST(precision(4, bits) == "");
  for (const int bits : {0, 24, -23, -24, -128}) BOOST_TEST(precision(4, bits) != "");
  for (const int bits : {1, 52, -51}) BOOST_TEST(precision(8, bits) == "");
  for (const int bits : {0, 53, -52}) BOOST_TEST(precision(8, bits) != "");
  BOOST_TEST(precision(2, 5) == "trunc_prec with parameter 5 for items of 2 bytes");
  BOOST_TEST(precision(300, 5) != "");
  const auto integers = [](std::int32_t typesize, int bits) {
    return filter_refusal(typesize, {{FilterId::int_trunc, static_cast<std::uint8_t>(bits)}});
  };
  for (const int bits : {1, 28, 32, -4, -31}) BOOST_TEST(integers(4, bits) == "");
  for (const int bits : {0, 33, -32}) BOOST_TEST(integers(4, bits) != "");
  for (const int bits : {64, -63}) BOOST_TEST(integers(8, bits) == "");
  BOOST_TEST(integers(1, 8) == "");
  BOOST_TEST(integers(3, 8) != "");
}

BOOST_AUTO_TEST_CASE(refuses_what_blosc1_does_not_know) {
  EncodeSettings settings = make_settings(CodecId::lz4, 5, 4, {kShuffle});
  settings.blosc1_header = true;
  BOOST_TEST(refusal(settings) == "");
  settings.filters[4] = kDelta;
  BOOST_TEST(refusal(settings) == "filters that Blosc1 does not know");
  settings.filters[4] = {FilterId::bitshuffle, 0};
  BOOST_TEST(refusal(settings) != "");
  settings.filters[4] = {};
  settings.filters[5].meta = 2;
  BOOST_TEST(refusal(settings) != "");
  settings.filters[5].meta = 0;
  settings.typesize = 256;
  BOOST_TEST(refusal(settings) == "item size for Blosc1 256 outside 1..255");
  settings.typesize = 4;
  settings.use_dictionary = true;
  BOOST_TEST(refusal(settings) == "a dictionary in a chunk for Blosc1");
}

BOOST_AUTO_TEST_CASE(refuses_dictionaries_for_codecs_without) {
  for (const CodecId id : {CodecId::blosclz, CodecId::zlib}) {
    EncodeSettings settings = make_settings(id, 5, 4);
    settings.use_dictionary = true;
    BOOST_TEST(refusal(settings).find("takes no dictionary") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(chooses_the_block_sizes_of_the_format) {
  constexpr std::int32_t k = 1024;
  check_blocks(
      CodecId::lz4, 1,
      {-8 * k, -32 * k, -32 * k, -32 * k, -64 * k, -64 * k, -64 * k, -128 * k, -256 * k, -512 * k});
  check_blocks(CodecId::blosclz, 4,
               {-8 * k, -128 * k, -128 * k, -128 * k, -256 * k, -256 * k, -256 * k, -512 * k,
                -1024 * k, -2048 * k});
  check_blocks(CodecId::lz4, 16,
               {-8 * k, -512 * k, -512 * k, -512 * k, -1024 * k, -1024 * k, -1024 * k, -2048 * k,
                -4096 * k, -4096 * k});
  check_blocks(CodecId::lz4, 17,
               {8177, 16371, 32759, 65535, 131070, 131070, 262140, 262140, 262140, 262140});
  check_blocks(
      CodecId::zlib, 8,
      {16 * k, 32 * k, 64 * k, 128 * k, 256 * k, 256 * k, 512 * k, 512 * k, 512 * k, 1024 * k});
  check_blocks(CodecId::zstd, 4,
               {-16 * k, -128 * k, -128 * k, -128 * k, -256 * k, -256 * k, 512 * k, 512 * k,
                512 * k, 1024 * k});
  check_blocks(CodecId::zstd, 17,
               {16371, 32759, 65535, 131070, 262140, 262140, 524280, 524280, 524280, 1048560});
}

BOOST_AUTO_TEST_CASE(blocks_are_whole_items_where_that_is_possible) {
  EncodeSettings settings = make_settings(CodecId::lz4, 5, 300);
  settings.blocksize = 5000;
  BOOST_TEST(codec::choose_blocksize(settings, 100000) == 4800);
  BOOST_TEST(codec::choose_blocksize(settings, 200) == 200);
  BOOST_TEST(codec::choose_blocksize(settings, 0) == 1);
  settings.typesize = 8;
  BOOST_TEST(codec::choose_blocksize(settings, 1003) == 1000);
  BOOST_TEST(codec::choose_blocksize(settings, 7) == 1);
  settings.blocksize = 3;
  BOOST_TEST(codec::choose_blocksize(settings, 1003) == 8);
}

BOOST_AUTO_TEST_CASE(splits_as_asked) {
  EncodeSettings settings = make_settings(CodecId::zlib, 5, 4);
  BOOST_TEST(!codec::splits_blocks(settings, 4096));
  settings.split = SplitMode::always;
  BOOST_TEST(codec::splits_blocks(settings, 4096));
  settings = make_settings(CodecId::lz4, 5, 4, {kShuffle});
  BOOST_TEST(codec::splits_blocks(settings, 128));
  BOOST_TEST(!codec::splits_blocks(settings, 124));
  settings.split = SplitMode::automatic;
  BOOST_TEST(codec::splits_blocks(settings, 128));
  settings.split = SplitMode::never;
  BOOST_TEST(!codec::splits_blocks(settings, 128));
  settings.split = SplitMode::always;
  settings.blosc1_header = true;  // readers of that header use a rule of their own
  BOOST_TEST(!codec::splits_blocks(settings, 508));
  BOOST_TEST(codec::splits_blocks(settings, 512));
  settings.typesize = 17;
  BOOST_TEST(!codec::splits_blocks(settings, 17 * 1000));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
