// The vlmetalayer bloscfs.xxh3: how writers compute it, update it, and drop it.

#include <boost/test/unit_test.hpp>
#include <xxhash.h>

#include "codec/chunk_encoder.hpp"
#include "frame/reading/frame_snapshot.hpp"
#include "tests/frame/frame_builder.hpp"
#include "tests/frame/random_edit.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

/// Checks every recorded checksum against the chunk's stored bytes.
void check_sums(const Snapshot& snapshot) {
  codec::BlockDecoder decoder;
  for (std::int64_t chunk = 0; chunk < snapshot.info().nchunks; ++chunk) {
    const auto page = snapshot.read_page(snapshot.page_of_chunk(chunk, nullptr), nullptr, decoder);
    const ChunkPlace place = page->place(chunk);
    std::uint64_t expected = 0;
    if (place.special == codec::SpecialValue::none) {
      const OpenedChunk opened = snapshot.open_chunk(place, 1 << 20);
      Buffer stored(static_cast<std::size_t>(opened.chunk.header().cbytes));
      snapshot.read_stored(opened, {0, std::ssize(stored)}, stored);
      expected = XXH3_64bits(stored.data(), stored.size());
    }
    const auto recorded = recorded_checksum(snapshot, chunk, decoder);
    BOOST_REQUIRE(recorded);
    BOOST_TEST(*recorded == expected);
  }
}

void check_kept_up(ContainerKind kind) {
  std::mt19937 random(random_seed());
  const auto disk = MemoryDisk::make();
  FrameContents model;
  model.bytes = random_content(random, 30000);
  FrameSettings settings = small_chunks();
  settings.checksums = true;
  const auto writer = make_frame(disk, "f", model.bytes, settings, {}, kind);
  check_sums(*writer->snapshot());
  for (int commit = 0; commit < 50; ++commit) {
    const auto transaction = writer->begin();
    edit_at_random(*transaction, model, random);
    const auto snapshot = transaction->commit();
    BOOST_TEST(snapshot->vlmetalayers().size() == model.vlmetalayers.size() + 1);
    check_sums(*snapshot);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(checksums)

BOOST_AUTO_TEST_CASE(are_kept_up_in_contiguous_frames) { check_kept_up(ContainerKind::cframe); }

BOOST_AUTO_TEST_CASE(are_kept_up_in_sparse_frames) { check_kept_up(ContainerKind::sframe); }

BOOST_AUTO_TEST_CASE(are_kept_no_more_without_their_layer) {
  const auto disk = MemoryDisk::make();
  FrameSettings settings = small_chunks();
  settings.checksums = true;
  const auto writer = make_frame(disk, "f", pattern(20000, 1), settings);
  const auto transaction = writer->begin();
  BOOST_TEST(transaction->remove_vlmetalayer("bloscfs.xxh3"));
  BOOST_TEST(!transaction->remove_vlmetalayer("bloscfs.xxh3"));
  put_content(*transaction, 3, pattern(4096, 3));
  codec::BlockDecoder decoder;
  BOOST_CHECK(!recorded_checksum(*transaction->commit(), 0, decoder));
}

/// Returns a frame that had this vlmetalayer when a commit changed its first chunk.
std::shared_ptr<const Snapshot> changed_frame(const Buffer& layer) {
  FrameBuilder frame = simple_frame(pattern(4 * 4096, 1), 4096, 512);
  frame.vlmetalayers = {{"bloscfs.xxh3", layer}, {"other", make_memcpy_chunk(pattern(16, 1), 8)}};
  const auto disk = MemoryDisk::make();
  disk->put("f", frame.build());
  const auto writer = open_writer(disk, "f");
  const auto transaction = writer->begin();
  put_content(*transaction, 0, pattern(4096, 2));
  return transaction->commit();
}

bool keeps_layer(const Buffer& layer) {
  const auto snapshot = changed_frame(layer);
  codec::BlockDecoder decoder;
  return snapshot->vlmetalayers().size() == 2 && recorded_checksum(*snapshot, 0, decoder);
}

// If the writer computed the checksums of all chunks instead, a hostile file could make it take any
// time and memory.
BOOST_AUTO_TEST_CASE(that_cannot_be_read_are_dropped) {
  BOOST_TEST(keeps_layer(make_memcpy_chunk(pattern(32, 1), 8)));
  BOOST_TEST(!keeps_layer(pattern(40, 1)));
  // Layers with another item size, and with blocks of 2 MiB.
  BOOST_TEST(!keeps_layer(make_memcpy_chunk(pattern(32, 1), 4)));
  Buffer compressible = pattern(4 << 20, 1);
  for (std::uint8_t& byte : compressible) byte &= 3;
  codec::EncodeSettings settings;
  settings.typesize = 8;
  settings.blocksize = 2 << 20;
  Buffer chunk = codec::ChunkEncoder(settings).encode_stored(compressible);
  BOOST_TEST(!keeps_layer(chunk));
}

BOOST_AUTO_TEST_CASE(of_a_frame_of_zeros_take_no_space) {
  const auto disk = MemoryDisk::make();
  FrameSettings settings = small_chunks();
  settings.checksums = true;
  const auto writer = make_frame(disk, "f", pattern(4096, 1), settings);
  const auto transaction = writer->begin();
  transaction->resize(std::int64_t{1} << 34);
  disk->log.clear();
  transaction->commit();
  BOOST_TEST(disk->bytes_written() < std::uint64_t{2} << 20);
}

BOOST_AUTO_TEST_CASE(that_other_programs_left_behind_are_not_taken_for_those_of_new_chunks) {
  const auto snapshot = changed_frame(make_memcpy_chunk(pattern(16, 1), 8));
  codec::BlockDecoder decoder;
  BOOST_TEST(*recorded_checksum(*snapshot, 0, decoder) != 0u);
  BOOST_TEST(*recorded_checksum(*snapshot, 3, decoder) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
