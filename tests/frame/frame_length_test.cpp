// The length of a frame: however its edits are spread over writers, it is at most 1.25 times its
// live bytes plus two of its largest chunks, and no byte that a state needs is written over.

#include <algorithm>
#include <set>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>

#include "frame/cframe/cframe_writer.hpp"
#include "frame/reading/frame_snapshot.hpp"
#include "frame/store/local_store.hpp"
#include "tests/frame/errno_of.hpp"
#include "tests/frame/random_edit.hpp"
#include "tests/frame/scratch_directory.hpp"
#include "tests/frame/volatile_disk.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

struct FrameSizes {
  std::uint64_t length = 0, live = 0, largest_chunk = 0;
  /// Of a few hundred bytes, a second trailer is most.
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

/// Replaces random chunks of a frame of `chunks` by noise of random size: it compresses little.
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

// While another program has the frame open, space waits for its time, which a writer that is
// opened anew for each edit must not begin anew.
BOOST_AUTO_TEST_CASE(stays_in_bounds_when_writers_follow_each_other_within_the_grace_period) {
  std::mt19937 random(random_seed());
  const auto disk = MemoryDisk::make();
  RandomOverwrites edits(random, 60);
  const WriterSettings settings{.grace = std::chrono::milliseconds(30)};
  std::shared_ptr<const Snapshot> known =
      make_frame(disk, "f", edits.model(), small_chunks(), settings)->snapshot();
  disk->sole_user = false;
  for (int commit = 0; commit < 60; ++commit) {
    const auto writer = open_cframe_writer(disk->root(), "f", settings, known);
    edits.commit(*writer);
    known = writer->snapshot();
    // What was superseded within the last 30 ms is not dead yet: a few chunks and indexes.
    FrameSizes sizes = sizes_of_frame(*known);
    sizes.live += 6 * 4400;
    check_length(sizes, commit);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  BOOST_TEST(contents_on(disk, "f").bytes == edits.model());
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
    // Chunk 1 lies within chunk 0, whose contents it is part of; 3 is 2; and there are holes.
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

BOOST_AUTO_TEST_CASE(leaves_alone_what_a_damaged_chunk_may_have) {
  FrameBuilder frame = simple_frame({}, 4096, 512);
  for (unsigned chunk = 0; chunk < 4; ++chunk)
    frame.add(make_memcpy_chunk(pattern(4096, chunk), 1), 4096);
  Buffer bytes = frame.build();
  const auto damaged_at = frame.header().size() + static_cast<std::size_t>(frame.entries[1]);
  bytes[damaged_at + 15] = 0xff;  // its stored size is negative
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

// A writer's process ends after it has switched the header, before the disk has it. The next one
// must not use space that the header on the disk reaches.
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
        // Fails behind the switch, and so does everything that would take the header back.
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
  // Once over the index, and a few chunk headers.
  BOOST_TEST(counters.bytes.load() <= index * 11 / 10);
  BOOST_TEST(counters.reads.load() < 1100 + kChunks * 8 / 16384);
}

BOOST_AUTO_TEST_SUITE_END()
