// The tables of codecs and filters are complete, and all code that needs their facts uses them.
#include "codec/compressor/codec_table.hpp"

#include <set>
#include <string>

#include <boost/test/unit_test.hpp>

#include "codec/encode_settings.hpp"
#include "codec/error.hpp"
#include "codec/filter/filter_table.hpp"
#include "codec/filter/pipeline.hpp"
#include "codec/names.hpp"
#include "tests/codec/chunk_builder.hpp"

namespace bloscfs::test {
namespace {

using codec::CodecId;
using codec::CodecRow;
using codec::FilterId;
using codec::FilterRow;

std::string refusal(const codec::EncodeSettings& settings) {
  try {
    check_settings(settings);
  } catch (const codec::Error& error) {
    return error.what();
  }
  return {};
}

/// Returns settings that also suit codecs and filters of arrays.
codec::EncodeSettings settings_for(const CodecRow& row) {
  static constexpr std::int32_t kShape[] = {8, 8};
  codec::EncodeSettings settings;
  settings.codec = row.id;
  settings.codec_meta = 4;
  settings.typesize = row.takes_single_bytes ? 1 : 4;
  settings.block_shape = codec::BlockShape(kShape);
  settings.blocksize = 64 * settings.typesize;
  return settings;
}

/// Returns why a header with a dictionary and that codec is refused; an empty string if it is not.
std::string dictionary_refusal(const CodecRow& codec) {
  ChunkPlan plan;
  plan.flags = static_cast<std::uint8_t>(0x15 | codec.stream_format << codec::kCodecFormatShift);
  plan.codec_id = static_cast<std::uint8_t>(codec.id);
  plan.blosc2_flags = codec::kBlosc2Dictionary;
  plan.nbytes = plan.blocksize = 1000;
  try {
    codec::parse_chunk_header(build_header(plan, 500), 500, 0);
  } catch (const codec::Error& error) {
    return error.what();
  }
  return {};
}

BOOST_AUTO_TEST_SUITE(codec_table)

BOOST_AUTO_TEST_CASE(rows_of_codecs_stand_by_id_and_have_names_of_their_own) {
  std::set<std::string> names;
  int last = -1;
  for (const CodecRow& row : codec::codec_rows()) {
    BOOST_TEST(static_cast<int>(row.id) > last);
    last = static_cast<int>(row.id);
    BOOST_TEST(names.insert(row.name).second, row.name);
    BOOST_TEST(codec::codec_name(row.id) == row.name);
    BOOST_TEST((codec::find_codec(row.id) == &row), row.name);
  }
  BOOST_TEST((codec::find_codec(static_cast<CodecId>(200)) == nullptr));
}

BOOST_AUTO_TEST_CASE(codecs_stand_in_headers_by_format_or_by_id) {
  for (const CodecRow& row : codec::codec_rows()) {
    const bool by_id = row.stream_format == codec::kCodecFormatById;
    BOOST_TEST(by_id == (static_cast<int>(row.id) >= codec::kFirstPluginCodec), row.name);
    BOOST_TEST(row.stream_format <= codec::kCodecFormatById, row.name);
    codec::ChunkHeader h;
    h.version = codec::kChunkVersionBlosc2;
    h.header_size = row.needs_short_header ? 16 : 32;
    h.nbytes = h.blocksize = 1000;
    h.cbytes = 500;
    h.codec = row.id;
    const codec::ChunkHeader parsed =
        codec::parse_chunk_header(codec::serialize_chunk_header(h), 500, 0);
    BOOST_TEST((parsed.codec == row.id), row.name);
  }
}

BOOST_AUTO_TEST_CASE(codecs_that_are_only_read_are_refused_by_name) {
  for (const CodecRow& row : codec::codec_rows()) {
    const bool is_written = row.make_compressor != nullptr;
    BOOST_TEST(codec::can_compress(row.id) == is_written);
    BOOST_TEST((codec::make_compressor(row.id, 5) != nullptr) == is_written);
    BOOST_TEST(refusal(settings_for(row)) ==
               (is_written ? "" : "codec " + std::string(row.name) + " cannot be written"));
    // A codec that can write can also read.
    const auto decompressor = codec::make_decompressor(row.id);
    BOOST_TEST((decompressor != nullptr) == (row.make_decompressor != nullptr));
    if (is_written) BOOST_TEST((decompressor != nullptr), row.name);
  }
}

BOOST_AUTO_TEST_CASE(dictionaries_are_taken_by_rows_that_say_so) {
  for (const CodecRow& row : codec::codec_rows()) {
    const std::string name = row.name;
    if (row.make_compressor != nullptr) {
      codec::EncodeSettings settings = settings_for(row);
      settings.use_dictionary = true;
      BOOST_TEST(refusal(settings) ==
                 (row.takes_dictionary ? "" : "codec " + name + " takes no dictionary"));
    }
    if (row.needs_short_header) continue;  // the short header has no flag for a dictionary
    // A codec that this build lacks is refused as missing, not because of the dictionary.
    const bool is_accepted = row.takes_dictionary || row.make_decompressor == nullptr;
    BOOST_TEST(dictionary_refusal(row) ==
               (is_accepted ? "" : "chunk header: a dictionary with " + name));
  }
}

BOOST_AUTO_TEST_CASE(lists_name_all_that_is_written) {
  BOOST_TEST(codec::list_written_codecs("or", codec::Loss::none) ==
             "blosclz, lz4, lz4hc, zlib, zstd or ndlz:SIDE");
  const bool has_zfp = codec::can_compress(CodecId::zfp_rate);
  BOOST_TEST((codec::list_written_codecs("or").find("zfp_accuracy:EXPONENT") !=
              std::string::npos) == has_zfp);
  BOOST_TEST(codec::list_dictionary_codecs("or") == "lz4, lz4hc or zstd");
  BOOST_TEST(codec::list_written_filters("and") ==
             "shuffle, bitshuffle, delta, trunc_prec:BITS, ndcell:SIDE, ndmean:SIDE, bytedelta and "
             "int_trunc:BITS");
  BOOST_TEST(codec::list_written_filters("and", codec::Loss::none) ==
             "shuffle, bitshuffle, delta, ndcell:SIDE and bytedelta");
}

BOOST_AUTO_TEST_CASE(codecs_of_arrays_say_what_they_need) {
  for (const CodecRow& row : codec::codec_rows()) {
    BOOST_TEST(row.depends_on_shape == (row.problem != nullptr), row.name);
    if (!row.depends_on_shape || row.make_compressor == nullptr) continue;
    codec::EncodeSettings settings = settings_for(row);
    settings.block_shape = {};
    BOOST_TEST(refusal(settings) ==
               "codec " + std::string(row.name) + ": needs the shape of an array's blocks");
    settings = settings_for(row);
    settings.blocksize /= 2;
    BOOST_TEST(refusal(settings) != "", row.name);
  }
}

BOOST_AUTO_TEST_CASE(rows_of_filters_stand_by_id_and_have_names_of_their_own) {
  std::set<std::string> names;
  int last = -1;
  for (const FilterRow& row : codec::filter_rows()) {
    BOOST_TEST(static_cast<int>(row.id) > last);
    last = static_cast<int>(row.id);
    BOOST_TEST(names.insert(row.name).second, row.name);
    BOOST_TEST(codec::filter_name(row.id) == row.name);
    BOOST_TEST((codec::find_filter(row.id) == &row), row.name);
  }
  for (const int id : {5, 37, 255})
    BOOST_TEST((codec::find_filter(static_cast<FilterId>(id)) == nullptr));
}

BOOST_AUTO_TEST_CASE(filters_can_be_undone_where_their_rows_need_it) {
  static constexpr std::int32_t kShape[] = {16, 16};
  codec::ChunkHeader h;
  h.typesize = h.full_typesize = 4;
  h.block_shape = codec::BlockShape(kShape);
  h.blocksize = 1024;
  for (const FilterRow& row : codec::filter_rows()) {
    const codec::FilterStep step{row.id, 10};
    BOOST_TEST(codec::is_supported(row.id) == (row.undoing != nullptr), row.name);
    if (row.undoing == nullptr) {
      BOOST_TEST((row.undo == nullptr && row.apply == nullptr), row.name);
      continue;
    }
    BOOST_TEST((row.undo != nullptr) == (row.undoing(h, step) != codec::Undoing::not_needed),
               row.name);
    h.filters = {};
    h.filters.back() = step;
    const std::string wanted = row.apply != nullptr || row.id == FilterId::none
                                   ? ""
                                   : "filter " + std::string(row.name) + " cannot be written";
    BOOST_TEST(codec::filter_problem(h) == wanted);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
