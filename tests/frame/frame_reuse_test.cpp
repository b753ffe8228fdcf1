// The space of superseded states: which readers it waits for, and that writers use it again.

#include <algorithm>
#include <cerrno>
#include <set>

#include <boost/test/unit_test.hpp>

#include "tests/frame/errno_of.hpp"
#include "tests/frame/random_edit.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

void replace_chunk(FrameWriter& writer, std::int64_t chunk, const Buffer& content) {
  const auto transaction = writer.begin();
  put_content(*transaction, chunk, content);
  transaction->commit();
}

/// Overwrites random chunks of a frame of eight chunks. Returns the frame's length afterwards.
std::size_t overwrite_often(FrameWriter& writer, const MemoryDisk& disk, int times) {
  std::mt19937 random(1);
  for (int i = 0; i < times; ++i)
    replace_chunk(writer, static_cast<std::int64_t>(random() % 8),
                  pattern(4096, static_cast<unsigned>(random())));
  return disk.bytes("f").size();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(frame_reuse)

BOOST_AUTO_TEST_CASE(keeps_a_frame_short_that_nobody_else_reads) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(32768, 1));
  const std::size_t fresh = disk->bytes("f").size();
  BOOST_TEST(overwrite_often(*writer, *disk, 300) < fresh + 3 * 4096 + 4096);
}

BOOST_AUTO_TEST_CASE(waits_for_other_readers) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(32768, 1));
  disk->sole_user = false;
  BOOST_TEST(overwrite_often(*writer, *disk, 100) > 100u * 4096);
  disk->sole_user = true;
  const std::size_t length = disk->bytes("f").size();
  BOOST_TEST(overwrite_often(*writer, *disk, 100) <= length);
}

BOOST_AUTO_TEST_CASE(waits_for_no_other_readers_without_a_grace_period) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(32768, 1), small_chunks(), kNoGrace);
  disk->sole_user = false;
  BOOST_TEST(overwrite_often(*writer, *disk, 300) < 32768u + 6 * 4096);
}

BOOST_AUTO_TEST_CASE(waits_for_snapshots_of_its_own_however_long) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(32768, 1), small_chunks(), kNoGrace);
  auto held = writer->snapshot();
  overwrite_often(*writer, *disk, 50);
  const auto later = writer->snapshot();
  const FrameContents contents = contents_of(*later);
  overwrite_often(*writer, *disk, 50);
  BOOST_TEST(held->unchanged());
  BOOST_TEST(contents_of(*held).bytes == pattern(32768, 1));
  held.reset();
  overwrite_often(*writer, *disk, 50);
  BOOST_CHECK(contents_of(*later) == contents);
}

BOOST_AUTO_TEST_CASE(gives_every_commit_a_length_of_its_own) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(32768, 1), small_chunks(), kNoGrace);
  std::set<std::int64_t> lengths{writer->snapshot()->info().frame_len};
  std::mt19937 random(2);
  for (int i = 0; i < 400; ++i) {
    const auto transaction = writer->begin();
    if (i % 50 == 49) put_all(*transaction, i % 100 == 99 ? pattern(32768, 1) : Buffer());
    if (transaction->info().nchunks > 0)
      put_content(*transaction, static_cast<std::int64_t>(random() % 8),
                  pattern(4096, static_cast<unsigned>(random())));
    transaction->commit();
    BOOST_TEST(lengths.insert(writer->snapshot()->info().frame_len).second);
  }
}

BOOST_AUTO_TEST_CASE(cuts_a_shrunken_frame) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(200000, 1));
  {
    const auto transaction = writer->begin();
    transaction->resize(4096);
    transaction->commit();
  }
  replace_chunk(*writer, 0, pattern(4096, 2));
  replace_chunk(*writer, 0, pattern(4096, 3));
  writer->tidy();
  BOOST_TEST(disk->bytes("f").size() < 20000u);
  BOOST_TEST(contents_on(disk, "f").bytes == pattern(4096, 3));
}

BOOST_AUTO_TEST_CASE(punches_what_it_does_not_use) {
  const auto disk = MemoryDisk::make();
  FrameSettings settings = small_chunks();
  settings.chunksize = 1 << 18;
  const auto writer = make_frame(disk, "f", pattern(1 << 20, 1), settings);
  replace_chunk(*writer, 0, Buffer(1 << 18));
  replace_chunk(*writer, 1, Buffer(1 << 18));
  disk->log.clear();
  writer->tidy();
  std::uint64_t punched = 0;
  for (const StoreOperation& operation : disk->log)
    if (operation.kind == StoreOperation::Kind::punch) punched += operation.size;
  BOOST_TEST(punched >= 500000u);
  Buffer expected = pattern(1 << 20, 1);
  std::fill(expected.begin(), expected.begin() + (1 << 19), std::uint8_t{0});
  BOOST_TEST(contents_on(disk, "f").bytes == expected);
}

BOOST_AUTO_TEST_CASE(writes_over_leftovers_of_a_crash) {
  const auto disk = MemoryDisk::make();
  make_frame(disk, "f", pattern(8192, 1));
  const std::size_t length = disk->bytes("f").size();
  disk->root()->open("f")->write_at(length, pattern(500000, 7));
  const auto writer = open_writer(disk, "f");
  replace_chunk(*writer, 0, pattern(4096, 2));
  BOOST_TEST(disk->bytes("f").size() < length + 10000);
}

BOOST_AUTO_TEST_CASE(never_frees_bytes_that_two_chunks_share) {
  FrameBuilder frame = simple_frame(pattern(4 * 4096, 1), 4096, 512);
  frame.entries[2] = frame.entries[1];
  const auto disk = MemoryDisk::make();
  disk->put("f", frame.build());
  const auto writer = open_writer(disk, "f", kNoGrace);
  Buffer expected = contents_of(*writer->snapshot()).bytes;
  for (unsigned i = 0; i < 40; ++i) {
    const std::int64_t chunk = i % 2 == 0 ? 1 : 3;
    const Buffer content = pattern(4096, 10 + i);
    std::copy(content.begin(), content.end(), expected.begin() + chunk * 4096);
    replace_chunk(*writer, chunk, content);
    writer->tidy();
    BOOST_TEST(contents_on(disk, "f").bytes == expected);
  }
}

BOOST_AUTO_TEST_CASE(uses_space_of_before_it_was_opened) {
  const auto disk = MemoryDisk::make();
  make_frame(disk, "f", pattern(32768, 1));
  const std::size_t fresh = disk->bytes("f").size();
  const auto writer = open_writer(disk, "f");
  BOOST_TEST(overwrite_often(*writer, *disk, 300) < fresh + 4 * 4096);
}

BOOST_AUTO_TEST_CASE(compacts_a_frame) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(32768, 1));
  disk->sole_user = false;
  overwrite_often(*writer, *disk, 40);
  auto transaction = writer->begin();
  transaction->set_vlmetalayer("a", pattern(100, 1));
  transaction->commit();
  const FrameContents contents = contents_on(disk, "f");
  const auto before = writer->snapshot();
  MemoryNode& node = disk->nodes.at(disk->find(MemoryDisk::kRoot, "f"));
  node.attributes = {12, 34, 0751, {5, 6}, {7, 8}, {{"user.a", pattern(5, 1)}}};
  writer->compact();
  BOOST_CHECK(contents_on(disk, "f") == contents);
  BOOST_CHECK(contents_of(*before) == contents);
  BOOST_TEST(before->unchanged());
  BOOST_TEST(disk->bytes("f").size() < 34500u);
  const FileAttributes kept = disk->root()->open("f")->attributes();
  BOOST_TEST(kept.owner == 12u);
  BOOST_TEST(kept.mode == 0751u);
  BOOST_TEST(kept.modified.tv_sec == 7);
  BOOST_TEST(kept.extended.at(0).name == "user.a");
  BOOST_TEST(disk->names().size() == 1u);
  replace_chunk(*writer, 0, pattern(4096, 2));
  BOOST_CHECK(contents_of(*before) == contents);
}

BOOST_AUTO_TEST_CASE(compacts_a_file_with_two_names_in_place) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(32768, 1));
  const std::size_t fresh = disk->bytes("f").size();
  disk->sole_user = false;
  overwrite_often(*writer, *disk, 40);
  disk->sole_user = true;
  const std::uint64_t node = disk->find(MemoryDisk::kRoot, "f");
  disk->nodes.at(node).links = 2;
  const FrameContents contents = contents_on(disk, "f");
  writer->compact();
  BOOST_TEST(disk->bytes("f").size() < fresh + 200);
  BOOST_CHECK(contents_on(disk, "f") == contents);
  BOOST_TEST(disk->find(MemoryDisk::kRoot, "f") == node);
  BOOST_TEST(disk->names().size() == 1u);
  replace_chunk(*writer, 0, pattern(4096, 2));
}

BOOST_AUTO_TEST_CASE(does_not_compact_a_file_with_two_names_that_others_read) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(32768, 1));
  disk->nodes.at(disk->find(MemoryDisk::kRoot, "f")).links = 2;
  disk->sole_user = false;
  overwrite_often(*writer, *disk, 4);
  const FrameContents contents = contents_on(disk, "f");
  BOOST_TEST(errno_of([&] { writer->compact(); }) == EBUSY);
  BOOST_CHECK(contents_on(disk, "f") == contents);
  replace_chunk(*writer, 0, pattern(4096, 2));
}

BOOST_AUTO_TEST_CASE(keeps_old_states_whole_through_random_commits) {
  std::mt19937 random(random_seed());
  for (int round = 0; round < 6; ++round) {
    const auto disk = MemoryDisk::make();
    FrameContents model;
    model.bytes = random_content(random, 30000);
    auto writer = make_frame(disk, "f", model.bytes, small_chunks(), kNoGrace);
    std::vector<std::pair<std::shared_ptr<const Snapshot>, FrameContents>> held;
    for (int commit = 0; commit < 60; ++commit) {
      if (random() % 4 == 0) held.emplace_back(writer->snapshot(), model);
      if (random() % 6 == 0 && !held.empty()) held.erase(held.begin());
      if (random() % 10 == 0) {
        held.clear();  // a new writer knows no older snapshots
        writer = open_writer(disk, "f", kNoGrace);
      }
      const auto transaction = writer->begin();
      edit_at_random(*transaction, model, random);
      transaction->commit();
      BOOST_TEST(contents_on(disk, "f") == model);
      for (const auto& [snapshot, contents] : held)
        BOOST_CHECK_MESSAGE(contents_of(*snapshot) == contents, "commit " << commit);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
