// Reference chunks: those of other writers of the format, and damaged ones.
#include <algorithm>
#include <random>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "codec/block_decoder.hpp"
#include "codec/error.hpp"
#include "tests/codec/chunk_builder.hpp"
#include "tests/support/digest.hpp"
#include "tests/support/manifest.hpp"

namespace bloscfs::test {
namespace {

using codec::ByteRange;
using codec::Bytes;

constexpr std::size_t kMaxNbytes = std::size_t{64} << 20;

ByteVector decode_shuffled(const ByteVector& stored, std::int32_t typesize, unsigned seed) {
  const codec::Chunk chunk = codec::open_chunk(stored, typesize);
  if (static_cast<std::size_t>(chunk.nbytes()) > kMaxNbytes) {
    throw codec::Error(codec::FormatErrc::too_large, "test limit");
  }
  ByteVector contents(static_cast<std::size_t>(chunk.nbytes()));
  std::vector<std::int32_t> order(static_cast<std::size_t>(chunk.block_count()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  codec::BlockDecoder decoder;
  const auto decode_one = [&](std::int32_t block, Bytes reference) {
    const ByteRange range = chunk.block_stored(block);
    ByteVector out(static_cast<std::size_t>(chunk.block_content(block).size));
    decoder.decode(chunk, block,
                   Bytes(stored).subspan(static_cast<std::size_t>(range.offset),
                                         static_cast<std::size_t>(range.size)),
                   reference, out);
    return out;
  };
  for (const std::int32_t block : order) {
    const ByteVector reference = chunk.needs_reference(block) ? decode_one(0, {}) : ByteVector();
    const ByteVector out = decode_one(block, reference);
    const std::int64_t offset = chunk.block_content(block).offset;
    BOOST_REQUIRE_EQUAL(chunk.block_at(offset), block);
    std::copy(out.begin(), out.end(), contents.begin() + offset);
  }
  return contents;
}

void check_contents(const CorpusEntry& entry, const ByteVector& contents) {
  BOOST_TEST(contents.size() == entry.facts.at("nbytes").get<std::size_t>());
  const std::string expected = entry.text("sha256");
  if (!expected.empty()) BOOST_TEST(sha256(contents) == expected);
}

/// Returns the item size if it does not fit into the header's byte, else 0. The corpus has it for
/// single chunks.
std::int32_t typesize_of(const CorpusEntry& entry) {
  const std::int32_t typesize = entry.facts.value("typesize", 0);
  return typesize > 255 ? typesize : 0;
}

void check_entry(const CorpusEntry& entry) {
  const ByteVector stored = read_file(entry.file);
  const std::int32_t typesize = typesize_of(entry);
  BOOST_TEST_CONTEXT(entry.name()) {
    if (entry.is("ok")) {
      BOOST_CHECK_NO_THROW(check_contents(entry, decode(stored, typesize)));
      for (unsigned seed = 0; seed < 2; ++seed) {
        BOOST_CHECK_NO_THROW(check_contents(entry, decode_shuffled(stored, typesize, seed)));
      }
    } else if (entry.is("error")) {
      BOOST_CHECK_THROW(decode(stored, typesize), codec::Error);
      BOOST_CHECK_THROW(decode_shuffled(stored, typesize, 0), codec::Error);
    } else {
      try {
        decode(stored, typesize);
        decode_shuffled(stored, typesize, 0);
      } catch (const codec::Error&) {  // one of the results that "any" allows
      }
    }
  }
}

void check_all(const std::vector<CorpusEntry>& entries, std::size_t at_least) {
  BOOST_TEST(entries.size() >= at_least);
  for (const CorpusEntry& entry : entries) check_entry(entry);
}

boost::test_tools::assertion_result has_corpus(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(!corpus_root().empty());
  result.message() << "no reference corpus: set BLOSCFS_CORPUS";
  return result;
}

BOOST_AUTO_TEST_SUITE(corpus)

BOOST_AUTO_TEST_CASE(decodes_the_reference_chunks_kept_with_the_tests) {
  check_all(chunks_in(fs_std::path(BLOSCFS_SOURCE_ROOT) / "tests" / "data" / "chunk"), 250);
}

BOOST_AUTO_TEST_CASE(decodes_every_chunk_of_the_reference_corpus,
                     *boost::unit_test::precondition(has_corpus)) {
  check_all(chunks_in(corpus_root()), 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
