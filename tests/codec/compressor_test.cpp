// Streams of every codec: they decode to the same contents, are the same each time, and fit into
// the given room.
#include <boost/test/unit_test.hpp>

#include "codec/compressor/blosclz.hpp"
#include "codec/compressor/codec_table.hpp"
#include "codec/names.hpp"
#include "tests/codec/chunk_builder.hpp"
#include "tests/support/contents.hpp"

namespace bloscfs::test {
namespace {

using codec::CodecId;

constexpr CodecId kCompressors[] = {CodecId::blosclz, CodecId::lz4, CodecId::lz4hc, CodecId::zlib,
                                    CodecId::zstd};

ByteVector compressed(codec::Compressor& compressor, const ByteVector& in,
                      const ByteVector& dictionary = {}) {
  ByteVector out(in.size() + 100);
  out.resize(compressor.compress(in, {.dictionary = dictionary}, out));
  return out;
}

ByteVector decompressed(CodecId id, const ByteVector& stream, std::size_t size,
                        const ByteVector& dictionary = {}) {
  ByteVector out(size);
  const bool good =
      codec::make_decompressor(id)->decompress(stream, {.dictionary = dictionary}, out);
  return good ? out : ByteVector();
}

/// Returns contents with overlapping, near and far repetitions, runs and noise.
std::vector<ByteVector> samples() {
  std::vector<ByteVector> all;
  for (const std::string& kind : content_kinds()) {
    for (const std::size_t size : {32U, 100U, 4096U, 70001U}) {
      all.push_back(make_contents(kind, 3, size, 4));
    }
  }
  for (const std::size_t distance :
       {1U, 2U, 3U, 7U, 8U, 8190U, 8191U, 8192U, 8193U, 73726U, 73727U, 73728U}) {
    ByteVector repeated = noise(distance);
    while (repeated.size() < 200000) repeated.push_back(repeated[repeated.size() - distance]);
    all.push_back(std::move(repeated));
  }
  return all;
}

BOOST_AUTO_TEST_SUITE(compressor)

BOOST_AUTO_TEST_CASE(streams_of_every_level_decode) {
  for (const ByteVector& in : samples()) {
    for (const CodecId id : kCompressors) {
      for (int level = 1; level <= 9; level += 2) {
        const ByteVector stream = compressed(*codec::make_compressor(id, level), in);
        if (stream.empty()) continue;  // does not compress
        BOOST_TEST((decompressed(id, stream, in.size()) == in),
                   codec::codec_name(id) << "-" << level << ", " << in.size() << " bytes");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(writes_as_much_as_there_is_room_for_or_nothing) {
  const ByteVector in = make_contents("text", 3, 20000, 1);
  for (const CodecId id : kCompressors) {
    const auto compressor = codec::make_compressor(id, 5);
    const std::size_t size = compressed(*compressor, in).size();
    BOOST_REQUIRE(size > 0);
    for (std::size_t room = 0; room < size; room = room < 200 ? room + 1 : room * 2) {
      ByteVector out(room + 1, 0xEE);
      const std::size_t written =
          compressor->compress(in, {}, codec::MutableBytes(out).first(room));
      BOOST_TEST(written <= room);
      if (written > 0) {
        out.resize(written);
        BOOST_TEST((decompressed(id, out, in.size()) == in));
      } else {
        BOOST_TEST(out[room] == 0xEE);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(streams_do_not_depend_on_earlier_ones) {
  const ByteVector dictionary = make_contents("text", 9, 4000, 1);
  for (const CodecId id : kCompressors) {
    for (const int level : {1, 5, 9}) {
      const auto used = codec::make_compressor(id, level);
      for (const ByteVector& in : samples()) {
        BOOST_TEST((compressed(*used, in) == compressed(*codec::make_compressor(id, level), in)),
                   codec::codec_name(id) << "-" << level << ", " << in.size() << " bytes");
        if (in.size() == 4096) compressed(*used, in, dictionary);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(dictionaries_shorten_streams) {
  const ByteVector dictionary = make_contents("text", 9, 4000, 1);
  const ByteVector in = make_contents("text", 10, 400, 1);
  for (const CodecId id : {CodecId::lz4, CodecId::lz4hc, CodecId::zstd}) {
    const auto compressor = codec::make_compressor(id, 5);
    const ByteVector stream = compressed(*compressor, in, dictionary);
    BOOST_TEST(stream.size() < compressed(*compressor, in).size());
    BOOST_TEST((decompressed(id, stream, in.size(), dictionary) == in));
  }
}

BOOST_AUTO_TEST_CASE(blosclz_starts_and_ends_with_a_literal) {
  for (const ByteVector& in :
       {ByteVector(5000, 7), walk(5000), make_contents("text", 1, 5000, 1)}) {
    for (int level = 1; level <= 9; ++level) {
      const ByteVector stream = compressed(*codec::make_blosclz_compressor(level), in);
      if (level < 3 && stream.empty()) continue;  // the compressor has given up
      BOOST_TEST((stream.at(0) & 0xE0) == 0x20);
      BOOST_TEST(stream.back() == in.back());
    }
  }
}

BOOST_AUTO_TEST_CASE(blosclz_goes_on_when_positions_run_out) {
  // Positions have 32 bits, and continue from one stream to the next.
  const auto compressor = codec::make_blosclz_compressor(9);
  const ByteVector in = make_contents("text", 1, 70000, 1);
  const ByteVector first = compressed(*compressor, in);
  const ByteVector long_run(std::size_t{96} << 20, 1);
  ByteVector out(1 << 20);
  for (int i = 0; i < 46; ++i) compressor->compress(long_run, {}, out);
  BOOST_TEST((compressed(*compressor, in) == first));
}

BOOST_AUTO_TEST_CASE(lacks_what_is_only_read) {
  for (const CodecId id : {CodecId::snappy, CodecId::grok, CodecId::j2k}) {
    BOOST_TEST(!codec::can_compress(id));
    BOOST_TEST((codec::make_compressor(id, 5) == nullptr));
  }
  for (const CodecId id : kCompressors) BOOST_TEST(codec::can_compress(id));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
