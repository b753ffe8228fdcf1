// C-Blosc2 decodes the chunks of bloscfs's encoder, and C-Blosc those that are for Blosc1.

#include <boost/test/unit_test.hpp>

#include "codec/block_decoder.hpp"
#include "tests/codec/encoding.hpp"
#include "tests/peer/encode_record.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/peer.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using codec::EncodeSettings;
using codec::FilterId;

constexpr int kChunks = 600;

/// Bytedelta must name the item size in chunks that are not in a frame.
void name_item_size(EncodeSettings& settings) {
  for (codec::FilterStep& step : settings.filters) {
    if (step.id != FilterId::bytedelta || step.meta != 0) continue;
    step.meta = static_cast<std::uint8_t>(settings.typesize > 255 ? 1 : settings.typesize);
  }
}

bool has_delta(const EncodeSettings& settings) {
  return std::any_of(settings.filters.begin(), settings.filters.end(),
                     [](const codec::FilterStep& step) { return step.id == FilterId::delta; });
}

EncodeRecord make_record(const EncodeSettings& settings, const ByteVector& contents) {
  EncodeRecord record;
  record.label = describe(settings, contents.size());
  record.typesize = settings.typesize > 255 ? 1 : settings.typesize;
  record.chunk = codec::ChunkEncoder(settings).encode_stored(contents);
  record.blocksize = std::max(
      codec::parse_chunk_header(record.chunk, record.chunk.size(), settings.typesize).blocksize, 1);
  // C-Blosc2 decodes items wrongly with delta and for wide repeated items. It expects at least 32
  // bytes of any chunk.
  record.items = !has_delta(settings) && settings.typesize <= 255 && record.chunk.size() >= 32;
  record.contents = is_lossless(settings) ? contents : decode(record.chunk, settings.typesize);
  return record;
}

/// Removes settings that C-Blosc2 2.17 does not support, such as dictionaries for LZ4.
void keep_to_peers(EncodeSettings& settings) {
  settings.use_dictionary = settings.use_dictionary && settings.codec == codec::CodecId::zstd;
  name_item_size(settings);
}

/// Encodes a chunk, and replaces one of its blocks.
EncodeRecord make_updated(const EncodeSettings& settings, ByteVector contents) {
  EncodeRecord record = make_record(settings, contents);
  const codec::Chunk chunk = codec::open_chunk(record.chunk, settings.typesize);
  const std::int32_t block = chunk.block_count() / 2;
  const codec::ByteRange range = chunk.block_content(block);
  const ByteVector changed = noise(static_cast<std::size_t>(range.size));
  std::copy(changed.begin(), changed.end(), contents.begin() + range.offset);
  const codec::BlockUpdate update{block, changed};
  const codec::EncodedChunk result =
      codec::ChunkEncoder(settings).update(chunk, record.chunk, {&update, 1});
  record.label = "updated: " + record.label;
  record.chunk = stored_bytes(result, contents.size(), settings.typesize);
  record.contents = is_lossless(settings) ? contents : decode(record.chunk, settings.typesize);
  return record;
}

std::vector<EncodeRecord> random_records(std::uint64_t seed, bool for_blosc1) {
  std::mt19937_64 random(seed);
  std::vector<EncodeRecord> records;
  while (records.size() < kChunks) {
    EncodeSettings settings = random_settings(random);
    if (for_blosc1 && !settings.blosc1_header) continue;
    keep_to_peers(settings);
    const ByteVector contents = random_contents(random, settings);
    records.push_back(make_record(settings, contents));
    if (contents.size() > 0 && random() % 4 == 0) {
      records.push_back(make_updated(settings, contents));
    }
  }
  return records;
}

ProcessResult check(const char* kind, const std::string& library,
                    const std::vector<EncodeRecord>& records) {
  const TempDir scratch;
  const auto path = scratch / "records";
  write_file(path, nlohmann::json::to_msgpack(nlohmann::json(records)));
  ProcessSettings settings;
  settings.limit = Seconds(120);
  settings.environment = {"ASAN_OPTIONS=detect_leaks=0"};  // the peers have leaks
  return run({BLOSCFS_TEST_BUILD_ROOT "/tests/peer/encode_checker", kind, library, path.string()},
             settings);
}

const Peer& blosc1_peer() {
  static const Peer found = [] {
    ProcessSettings settings;
    settings.limit = Seconds(150);
    const auto result = run({BLOSCFS_TEST_SOURCE_ROOT "/tests/peer/encode_fetch_libblosc1.sh",
                             BLOSCFS_TEST_BUILD_ROOT "/libblosc1"},
                            settings);
    const std::string& line = result.ok() ? result.out : result.err;
    const std::string text = line.substr(0, line.find('\n'));
    return result.ok() ? Peer{text, ""} : Peer{"", text};
  }();
  return found;
}

Precondition needs_blosc1(boost::unit_test::test_unit_id) {
  return blosc1_peer().shared_object.empty() ? skip(blosc1_peer().reason) : Precondition(true);
}

BOOST_AUTO_TEST_SUITE(peer_chunks)

BOOST_AUTO_TEST_CASE(blosc2_decodes_what_we_encode, *precondition(needs_peer)) {
  const std::uint64_t seed = test_seed();
  const auto result = check("blosc2", peer().shared_object, random_records(seed, false));
  BOOST_TEST(result.ok(), "seed " << seed << ": " << result.out << result.description());
}

BOOST_AUTO_TEST_CASE(blosc1_decodes_what_we_encode_for_it, *precondition(needs_blosc1)) {
  const std::uint64_t seed = test_seed();
  const auto result = check("blosc1", blosc1_peer().shared_object, random_records(seed, true));
  BOOST_TEST(result.ok(), "seed " << seed << ": " << result.out << result.description());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
