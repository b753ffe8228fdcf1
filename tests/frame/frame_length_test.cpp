// The length of a frame: at most 1.25 times its live bytes plus two of its largest chunks,
// whichever writers make the edits. No edit overwrites a byte that a readable state needs.

#include <algorithm>
#include <set>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>

#include "frame/cframe/cframe.hpp"
#include "frame/cframe/cframe_writer.hpp"
#include "frame/editing/recent_writers.hpp"
#include "frame/reading/frame_snapshot.hpp"
#include "frame/store/local_store.hpp"
#include "tests/frame/errno_of.hpp"
#include "tests/frame/random_edit.hpp"
#include "tests/frame/scratch_directory.hpp"
#include "tests/frame/volatile_disk.hpp"
#include "tests/support/set_clock.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

struct FrameSizes {
  std::uint64_t length = 0, live = 0, largest_chunk = 0;
  /// In a frame of a few hundred bytes, a second trailer takes most of the space. So the limit has
  /// 128 bytes more.
  std::uint64_t most() const { return live + live / 4 + 2 * largest_chunk + 128; }
};

FrameSizes sizes_of_frame(const Snapshot& opened) {
  const auto& frame = dynamic_cast<const FrameSnapshot&>(opened);
  const FrameInfo& info = frame.info();
  FrameSizes sizes;
  sizes.length = static_cast<std::uint64_t>(info.frame_len);
  sizes.live = static_cast<std::uint64_t>(info.header_len + info.trailer_len);
  if (info.nchunks == 0) return sizes;
  codec::BlockDecoder decoder;
  const auto index = frame.index();
  sizes.live += static_cast<std::uint64_t>(index->stored_size());
  std::set<std::int64_t> entries;
  for (std::int64_t page = 0; page < index->page_count(); ++page)
    for (const std::int64_t entry : index->read_page(page, decoder).entries)
      if (entry >= 0) entries.insert(entry);
  for (const std::int64_t entry : entries) {
    const auto size =
        static_cast<std::uint64_t>(frame.read_header(frame.place_of(entry, 0)).cbytes);
    sizes.live += size;
    sizes.largest_chunk = std::max(sizes.largest_chunk, size);
  }
  return sizes;
}

FrameSizes sizes_on(const std::shared_ptr<MemoryDisk>& disk) {
  return sizes_of_frame(*open_on(disk, "f"));
}

void check_length(const FrameSizes& sizes, int commit) {
  BOOST_CHECK_MESSAGE(sizes.length <= sizes.most(), "commit " << commit << ": " << sizes.length
                                                              << " bytes, " << sizes.live
                                                              << " of them live");
}

void commit_chunk(FrameWriter& writer, std::int64_t chunk, const Buffer& content) {
  const auto transaction = writer.begin();
  put_content(*transaction, chunk, content);
  transaction->commit();
}

/// Tidies the frame as a mount does after a commit.
void tidy_as_needed(FrameWriter& writer) {
  for (int i = 0; i < 5 && writer.is_oversized(); ++i) writer.tidy();
}

/// Replaces random chunks of a frame of `chunks` chunks by noise of random size, which hardly
/// compresses.
class RandomOverwrites {
 public:
  RandomOverwrites(std::mt19937& random, std::size_t chunks)
      : random_(random), model_(chunks * 4096) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) change(chunk);
  }

  const Buffer& model() const { return model_; }

  void commit(FrameWriter& writer) {
    const std::size_t chunk = random_() % (model_.size() / 4096);
    change(chunk);
    const auto begin = model_.begin() + static_cast<std::ptrdiff_t>(chunk) * 4096;
    commit_chunk(writer, static_cast<std::int64_t>(chunk), Buffer(begin, begin + 4096));
  }

 private:
  void change(std::size_t chunk) {
    const auto begin = model_.begin() + static_cast<std::ptrdiff_t>(chunk) * 4096;
    std::fill(begin, begin + 4096, static_cast<std::uint8_t>(random_()));
    const auto noise = static_cast<std::ptrdiff_t>(random_() % 4096);
    std::generate(begin, begin + noise, [&] { return static_cast<std::uint8_t>(random_()); });
  }

  std::mt19937& random_;
  Buffer model_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(frame_length)

BOOST_AUTO_TEST_CASE(stays_in_bounds_when_every_edit_opens_the_frame_anew) {
  std::mt19937 random(random_seed());
  const auto disk = MemoryDisk::make();
  RandomOverwrites edits(random, 40);
  make_frame(disk, "f", edits.model());
  for (int commit = 0; commit < 300; ++commit) {
    const auto writer = open_writer(disk, "f");
    edits.commit(*writer);
    tidy_as_needed(*writer);
    check_length(sizes_on(disk), commit);
    if (commit % 20 == 0) BOOST_TEST(contents_on(disk, "f").bytes == edits.model());
  }
  BOOST_TEST(contents_on(disk, "f").bytes == edits.model());
}

BOOST_AUTO_TEST_CASE(stays_in_bounds_when_one_writer_makes_every_edit) {
  std::mt19937 random(random_seed());
  const auto disk = MemoryDisk::make();
  RandomOverwrites edits(random, 40);
  const auto writer = make_frame(disk, "f", edits.model());
  for (int commit = 0; commit < 300; ++commit) {
    edits.commit(*writer);
    tidy_as_needed(*writer);
    check_length(sizes_on(disk), commit);
  }
  BOOST_TEST(contents_on(disk, "f").bytes == edits.model());
}

// While another program has the frame open, superseded space must wait for the grace period. A new
// writer for each edit must not start that period again, whether the mount still has the frame's
// snapshot or not.
BOOST_AUTO_TEST_CASE(stays_in_bounds_when_writers_follow_each_other_within_the_grace_period) {
  for (const bool is_known : {true, false}) {
    std::mt19937 random(random_seed());
    const auto disk = MemoryDisk::make();
    RandomOverwrites edits(random, 60);
    bloscfs::test::SetClock clock;
    const WriterSettings settings{.grace = {std::chrono::milliseconds(30), clock},
                                  .recent_writers = std::make_shared<RecentWriters>()};
    std::shared_ptr<const Snapshot> known =
        make_frame(disk, "f", edits.model(), small_chunks(), settings)->snapshot();
    disk->sole_user = false;
    for (int commit = 0; commit < 60; ++commit) {
      const auto writer =
          open_cframe_writer(disk->root(), "f", settings, is_known ? known : nullptr);
      edits.commit(*writer);
      known = writer->snapshot();
      // Space that was superseded within the last 30 ms counts as live: a few chunks and indexes.
      FrameSizes sizes = sizes_of_frame(*known);
      sizes.live += 6 * 4400;
      check_length(sizes, commit);
      clock.move(std::chrono::milliseconds(10));
    }
    BOOST_TEST(contents_on(disk, "f").bytes == edits.model());
  }
}

// Notes of an earlier writer are invalid if another program has changed the frame since.
BOOST_AUTO_TEST_CASE(notes_of_recent_writers_are_not_used_after_another_program_s_change) {
  std::mt19937 random(random_seed());
  const auto disk = MemoryDisk::make();
  RandomOverwrites edits(random, 40);
  WriterSettings settings = kNoGrace;
  settings.recent_writers = std::make_shared<RecentWriters>();
  make_frame(disk, "f", edits.model(), small_chunks(), settings);
  for (int commit = 0; commit < 60; ++commit) {
    edits.commit(*open_cframe_writer(disk->root(), "f", settings));
    // This writer does not have those notes, and uses the space that they call free.
    edits.commit(*open_cframe_writer(disk->root(), "f", kNoGrace));
    BOOST_TEST_REQUIRE(contents_on(disk, "f").bytes == edits.model());
  }
}

// Space of the previous writer has been superseded since the file's last change, not since the new
// writer opened it.
BOOST_AUTO_TEST_CASE(stays_in_bounds_beside_a_reader_when_edits_are_further_apart_than_that) {
  std::mt19937 random(random_seed());
  const auto disk = MemoryDisk::make();
  RandomOverwrites edits(random, 40);
  make_frame(disk, "f", edits.model());
  const ScratchDirectory place;
  place.write("f", disk->bytes("f"));
  const UniqueFd reader(::open((place / "f").c_str(), O_RDONLY | O_CLOEXEC));
  bloscfs::test::SetClock clock;
  const WriterSettings settings{.grace = {std::chrono::milliseconds(10), clock}};
  for (int commit = 0; commit < 100; ++commit) {
    clock.move(std::chrono::milliseconds(25));
    const auto writer = open_cframe_writer(
        make_local_store(UniqueFd(::open(place.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                         nullptr),
        "f", settings);
    edits.commit(*writer);
    // The space that this commit has superseded waits.
    FrameSizes sizes = sizes_of_frame(*writer->snapshot());
    sizes.live += 2 * 4400;
    check_length(sizes, commit);
  }
}

// Superseded space may not be used again for 10 s, and each new writer starts this period again.
BOOST_AUTO_TEST_CASE(stays_in_bounds_beside_a_reader_that_stays) {
  std::mt19937 random(random_seed());
  const auto disk = MemoryDisk::make();
  RandomOverwrites edits(random, 40);
  make_frame(disk, "f", edits.model());
  disk->sole_user = false;
  const auto old = open_cframe(disk->root()->open("f"), {}, nullptr);
  const Buffer old_content = edits.model();
  for (int commit = 0; commit < 100; ++commit) {
    WriterSettings settings;
    settings.new_file_to_shrink = true;
    edits.commit(*open_cframe_writer(disk->root(), "f", settings));
    check_length(sizes_on(disk), commit);
  }
  BOOST_TEST(contents_on(disk, "f").bytes == edits.model());
  BOOST_TEST(contents_of(*old).bytes == old_content);
}

BOOST_AUTO_TEST_CASE(keeps_what_older_snapshots_of_earlier_writers_show) {
  std::mt19937 random(random_seed());
  const auto disk = MemoryDisk::make();
  RandomOverwrites edits(random, 20);
  std::shared_ptr<const Snapshot> known =
      make_frame(disk, "f", edits.model(), small_chunks(), kNoGrace)->snapshot();
  const auto old = known;
  const Buffer old_content = edits.model();
  std::set<std::int64_t> lengths{known->info().frame_len};
  for (int commit = 0; commit < 40; ++commit) {
    const auto writer = open_cframe_writer(disk->root(), "f", kNoGrace, known);
    edits.commit(*writer);
    known = writer->snapshot();
    BOOST_TEST(lengths.insert(known->info().frame_len).second);
  }
  BOOST_TEST(old->unchanged());
  BOOST_TEST(contents_of(*old).bytes == old_content);
}

BOOST_AUTO_TEST_CASE(stays_in_bounds_when_lines_are_appended_one_by_one) {
  std::mt19937 random(random_seed());
  const auto disk = MemoryDisk::make();
  FrameSettings settings = small_chunks();
  settings.chunksize = 1 << 13;
  settings.blocksize = 1 << 11;
  Buffer log = random_content(random, 80);
  make_frame(disk, "f", log, settings);
  for (int line = 0; line < 400; ++line) {
    const std::size_t last = log.size() / (1 << 13) * (1 << 13);
    const Buffer more = random_content(random, 1 + static_cast<std::int64_t>(random() % 800));
    log.insert(log.end(), more.begin(), more.end());
    const auto writer = open_writer(disk, "f");
    auto transaction = writer->begin();
    transaction->resize(std::ssize(log));
    for (std::size_t at = last; at < log.size(); at += 1 << 13)
      put_content(
          *transaction, static_cast<std::int64_t>(at >> 13),
          Buffer(log.begin() + static_cast<std::ptrdiff_t>(at),
                 log.begin() + static_cast<std::ptrdiff_t>(std::min(log.size(), at + (1 << 13)))));
    transaction->commit();
    transaction.reset();
    tidy_as_needed(*writer);
    check_length(sizes_on(disk), line);
  }
  BOOST_TEST(contents_on(disk, "f").bytes == log);
}

BOOST_AUTO_TEST_CASE(stays_in_bounds_when_only_vlmetalayers_change) {
  const auto disk = MemoryDisk::make();
  make_frame(disk, "f", pattern(32768, 1));
  for (unsigned commit = 0; commit < 100; ++commit) {
    const auto writer = open_writer(disk, "f");
    const auto transaction = writer->begin();
    transaction->set_vlmetalayer("a", pattern(3000, commit));
    transaction->commit();
    BOOST_TEST(disk->bytes("f").size() < 32768u + 4 * 4096);
  }
  BOOST_TEST(contents_on(disk, "f").vlmetalayers.at("a") == pattern(3000, 99));
}

BOOST_AUTO_TEST_CASE(falls_with_the_contents) {
  for (const bool anew : {false, true}) {
    const auto disk = MemoryDisk::make();
    auto writer = make_frame(disk, "f", pattern(400000, 1));
    if (anew) writer = open_writer(disk, "f");
    auto transaction = writer->begin();
    transaction->resize(0);
    transaction->resize(4);
    put_content(*transaction, 0, pattern(4, 2));
    transaction->commit();
    transaction.reset();
    tidy_as_needed(*writer);
    BOOST_TEST(disk->bytes("f").size() < 1000u);
    BOOST_TEST(contents_on(disk, "f").bytes == pattern(4, 2));
  }
}

BOOST_AUTO_TEST_CASE(falls_when_most_of_the_contents_are_cut_off) {
  std::mt19937 random(random_seed());
  const auto disk = MemoryDisk::make();
  RandomOverwrites edits(random, 100);
  const auto writer = make_frame(disk, "f", edits.model());
  for (int i = 0; i < 60; ++i) edits.commit(*writer);
  {
    const auto transaction = writer->begin();
    transaction->resize(10 * 4096);
    transaction->commit();
  }
  tidy_as_needed(*writer);
  FrameSizes sizes = sizes_on(disk);
  sizes.largest_chunk = 4096 + 32;  // one of the chunks that were cut off
  check_length(sizes, 0);
  BOOST_TEST(disk->bytes("f").size() <= sizes.most());
  BOOST_TEST(contents_on(disk, "f").bytes ==
             Buffer(edits.model().begin(), edits.model().begin() + 10 * 4096));
}

BOOST_AUTO_TEST_CASE(keeps_recorded_checksums_of_chunks_that_are_moved) {
  const auto disk = MemoryDisk::make();
  FrameSettings settings = small_chunks();
  settings.checksums = true;
  const auto writer = make_frame(disk, "f", pattern(400000, 1), settings);
  Buffer content(400000);
  std::copy_n(pattern(4096, 2).begin(), 4096, content.begin());
  const Buffer end = pattern(400000 - 97 * 4096, 3);
  std::copy(end.begin(), end.end(), content.begin() + 97 * 4096);
  auto transaction = writer->begin();
  put_all(*transaction, content);
  transaction->commit();
  transaction.reset();
  codec::BlockDecoder decoder;
  const auto before = recorded_checksum(*open_on(disk, "f"), 97, decoder);
  tidy_as_needed(*writer);
  BOOST_TEST(disk->bytes("f").size() < 20000u);
  BOOST_TEST((recorded_checksum(*open_on(disk, "f"), 97, decoder) == before));
  BOOST_TEST(contents_on(disk, "f").bytes == content);
}

BOOST_AUTO_TEST_CASE(is_that_of_an_empty_frame_again_when_it_is_emptied) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(400000, 1));
  auto transaction = writer->begin();
  transaction->resize(0);
  transaction->commit();
  transaction.reset();
  tidy_as_needed(*writer);
  BOOST_TEST(disk->bytes("f").size() == 132u);
}

BOOST_AUTO_TEST_CASE(leaves_bytes_behind_the_end_to_readers_for_the_grace_period) {
  const auto disk = MemoryDisk::make();
  {
    const auto writer = make_frame(disk, "f", pattern(400000, 1));
    const auto transaction = writer->begin();
    transaction->resize(0);
    transaction->commit();
  }
  disk->sole_user = false;
  const std::size_t before = disk->bytes("f").size();
  const auto writer = open_writer(disk, "f");
  writer->tidy();
  BOOST_TEST(disk->bytes("f").size() == before);
  disk->sole_user = true;
  writer->tidy();
  BOOST_TEST(disk->bytes("f").size() == 132u);
}

BOOST_AUTO_TEST_CASE(does_not_count_another_frame_in_the_same_file) {
  const auto disk = MemoryDisk::make();
  make_frame(disk, "f", pattern(8192, 1));
  make_frame(disk, "g", pattern(8192, 2));
  Buffer both = disk->bytes("f");
  append(both, disk->bytes("g"));
  disk->root()->open("f")->write_at(0, both);
  BOOST_TEST(errno_of([&] { open_writer(disk, "f"); }) == EROFS);
  BOOST_TEST(disk->bytes("f") == both);
}

// --- frames of other writers

BOOST_AUTO_TEST_CASE(leaves_chunks_that_share_bytes_whole) {
  std::mt19937 random(random_seed());
  for (int round = 0; round < 40; ++round) {
    // Chunk 6 lies within the bytes of chunk 0. Chunks 2 and 3 are the same bytes. There are also
    // holes.
    const Buffer inner = make_memcpy_chunk(pattern(1000, 1), 1);
    Buffer outer_content = pattern(4096, 2);
    const std::size_t inner_at = random() % (4096 - inner.size());
    std::copy(inner.begin(), inner.end(),
              outer_content.begin() + static_cast<std::ptrdiff_t>(inner_at));
    FrameBuilder frame;
    frame.chunksize = 4096;
    frame.chunk_area.resize(random() % 3000);
    frame.add(make_memcpy_chunk(outer_content, 1), 4096);
    frame.chunk_area.resize(frame.chunk_area.size() + random() % 9000);
    for (unsigned chunk = 1; chunk < 6; ++chunk) {
      frame.add(make_memcpy_chunk(pattern(4096, 3 + chunk), 1), 4096);
      frame.chunk_area.resize(frame.chunk_area.size() + random() % 6000);
    }
    frame.add(inner, 1000);
    frame.entries[3] = frame.entries[2];
    frame.entries[6] = frame.entries[0] + 32 + static_cast<std::int64_t>(inner_at);
    const auto disk = MemoryDisk::make();
    disk->put("f", frame.build());
    Buffer model = contents_on(disk, "f").bytes;
    for (unsigned edit = 0; edit < 12; ++edit) {
      const auto chunk = static_cast<std::int64_t>(random() % 6);
      const Buffer content = pattern(4096, 100 + edit);
      std::copy(content.begin(), content.end(), model.begin() + chunk * 4096);
      const auto writer = open_writer(disk, "f", kNoGrace);
      commit_chunk(*writer, chunk, content);
      if (edit % 3 == 0) writer->tidy();
      BOOST_TEST(contents_on(disk, "f").bytes == model);
    }
  }
}

BOOST_AUTO_TEST_CASE(counts_the_holes_that_another_writer_left) {
  FrameBuilder frame = simple_frame({}, 4096, 512);
  for (unsigned chunk = 0; chunk < 8; ++chunk) {
    frame.add(make_memcpy_chunk(pattern(4096, chunk), 1), 4096);
    frame.chunk_area.resize(frame.chunk_area.size() + 20000);
  }
  const auto disk = MemoryDisk::make();
  disk->put("f", frame.build());
  const std::size_t before = disk->bytes("f").size();
  Buffer model = contents_on(disk, "f").bytes;
  const auto writer = open_writer(disk, "f");
  commit_chunk(*writer, 3, pattern(4096, 50));
  std::copy_n(pattern(4096, 50).begin(), 4096, model.begin() + 3 * 4096);
  tidy_as_needed(*writer);
  BOOST_TEST(disk->bytes("f").size() < before / 2);
  check_length(sizes_on(disk), 0);
  BOOST_TEST(contents_on(disk, "f").bytes == model);
}

BOOST_AUTO_TEST_CASE(leaves_alone_what_a_damaged_chunk_may_have) {
  FrameBuilder frame = simple_frame({}, 4096, 512);
  for (unsigned chunk = 0; chunk < 4; ++chunk)
    frame.add(make_memcpy_chunk(pattern(4096, chunk), 1), 4096);
  Buffer bytes = frame.build();
  const auto damaged_at = frame.header().size() + static_cast<std::size_t>(frame.entries[1]);
  bytes[damaged_at + 15] = 0xff;  // the chunk's stored size is negative
  const Buffer stored(bytes.begin() + static_cast<std::ptrdiff_t>(damaged_at),
                      bytes.begin() + static_cast<std::ptrdiff_t>(damaged_at) + 4096 + 32);
  const auto disk = MemoryDisk::make();
  disk->put("f", bytes);
  for (unsigned edit = 0; edit < 10; ++edit) {
    const auto writer = open_writer(disk, "f", kNoGrace);
    commit_chunk(*writer, 3, pattern(4096, 60 + edit));
  }
  BOOST_TEST(std::equal(stored.begin(), stored.end(),
                        disk->bytes("f").begin() + static_cast<std::ptrdiff_t>(damaged_at)));
}

// --- power cuts

// A writer's process ends after it has switched the header, before the header is on the disk. The
// next writer must not use space that the header on the disk refers to.
BOOST_AUTO_TEST_CASE(is_of_a_whole_state_after_a_kill_a_new_writer_and_a_power_cut) {
  std::mt19937 random(random_seed());
  for (int round = 0; round < 6; ++round) {
    const auto disk = MemoryDisk::make();
    RandomOverwrites edits(random, 8);
    auto writer = make_frame(disk, "f", edits.model());
    disk->root()->sync();
    const auto before = disk->clone();
    disk->log.clear();
    std::vector<Buffer> states{edits.model()};
    for (int commit = 0; commit < 4; ++commit) {
      bool has_switched = false;
      if (commit % 2 == 0) {
        // Fails after the switch. Then all operations fail, including those that would restore the
        // header.
        disk->before_each = [&](const StoreOperation& operation) {
          if (has_switched) throw std::system_error(EIO, std::generic_category());
          has_switched = operation.kind == StoreOperation::Kind::write && operation.offset == 0;
        };
      }
      try {
        edits.commit(*writer);
      } catch (const std::system_error&) {
      }
      stop_failing(*disk);
      writer = open_writer(disk, "f");
      states.push_back(contents_on(disk, "f").bytes);
      BOOST_TEST(states.back() == edits.model());
    }
    VolatileDisk replayed(*before);
    for (std::size_t cut = 0; cut <= disk->log.size(); ++cut) {
      if (cut > 0) replayed.perform(disk->log[cut - 1]);
      for (int i = 0; i < 8; ++i) {
        Buffer found;
        try {
          found = contents_on(replayed.after_cut(&random), "f").bytes;
        } catch (const std::exception& error) {
          BOOST_ERROR("cut after operation " << cut << ": " << error.what());
          continue;
        }
        BOOST_CHECK_MESSAGE(std::count(states.begin(), states.end(), found) > 0,
                            "cut after operation " << cut);
      }
    }
  }
}

// --- cost

BOOST_AUTO_TEST_CASE(costs_nothing_to_know_when_a_frame_is_opened) {
  constexpr std::size_t kChunks = 1'000'000;
  std::mt19937 random(random_seed());
  FrameBuilder frame;
  frame.chunksize = 40;
  const Buffer chunk = make_memcpy_chunk(pattern(40, 1), 1);
  for (std::size_t i = 0; i < kChunks; ++i) frame.add(chunk, 40);
  std::shuffle(frame.entries.begin(), frame.entries.end(), random);
  const ScratchDirectory directory;
  directory.write("f", frame.build());
  const std::uint64_t index = static_cast<std::uint64_t>(make_index_chunk(frame.entries).size());
  SourceCounters counters;
  const auto writer = open_cframe_writer(
      make_local_store(
          UniqueFd(::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
          &counters),
      "f", {});
  BOOST_TEST(counters.bytes.load() <= index / 100);
  BOOST_TEST(counters.reads.load() < 10u);
  counters.reads = 0, counters.bytes = 0;
  const auto transaction = writer->begin();
  // Reads the index once, and a few chunk headers.
  BOOST_TEST(counters.bytes.load() <= index * 11 / 10);
  BOOST_TEST(counters.reads.load() < 1100 + kChunks * 8 / 16384);
}

BOOST_AUTO_TEST_SUITE_END()
