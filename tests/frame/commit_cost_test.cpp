// The cost of commits: bytes written to frames with very many chunks, and space that many small
// overwrites leave unused.

#include <algorithm>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "codec/chunk_encoder.hpp"
#include "frame/cframe/cframe_writer.hpp"
#include "frame/open/open.hpp"
#include "frame/store/local_store.hpp"
#include "tests/frame/random_edit.hpp"
#include "tests/frame/scratch_directory.hpp"
#include "tests/support/needs.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

constexpr std::int64_t kManyChunks = 120000;
constexpr std::int32_t kTinyChunk = 40;

/// Returns how many bytes a commit of one changed chunk writes.
std::uint64_t cost_of_one_chunk(FrameWriter& writer, MemoryDisk& disk, std::int64_t chunk) {
  disk.log.clear();
  const auto transaction = writer.begin();
  transaction->put_chunk(chunk, make_memcpy_chunk(pattern(kTinyChunk, 5), 1));
  transaction->commit();
  return disk.bytes_written();
}

/// Grows a frame in steps, as a program does that writes a stream.
std::unique_ptr<FrameWriter> make_long_frame(const std::shared_ptr<MemoryDisk>& disk) {
  FrameSettings settings;
  settings.chunksize = kTinyChunk;
  auto writer = create_cframe(disk->root(), "f", settings, {});
  for (std::int64_t done = 0; done < kManyChunks; done += kManyChunks / 4) {
    const auto transaction = writer->begin();
    transaction->resize((done + kManyChunks / 4) * kTinyChunk);
    for (std::int64_t chunk = done; chunk < done + kManyChunks / 4; ++chunk)
      transaction->put_chunk(
          chunk, make_memcpy_chunk(pattern(kTinyChunk, static_cast<unsigned>(chunk)), 1));
    transaction->commit();
    disk->log.clear();
  }
  return writer;
}

/// Makes 64 MiB. Each page of 4 KiB compresses to about a third.
Buffer make_pages() {
  Buffer bytes(std::size_t{64} << 20);
  std::mt19937 random(1);
  for (std::size_t at = 0; at < bytes.size(); at += 64)
    for (std::size_t i = 0; i < 20; ++i) bytes[at + i] = static_cast<std::uint8_t>(random());
  return bytes;
}

struct FileSize {
  std::int64_t length, occupied;
};

FileSize size_of(const std::string& path) {
  struct stat st {};
  BOOST_REQUIRE(::stat(path.c_str(), &st) == 0);
  return {st.st_size, st.st_blocks * 512};
}

class Overwriter {
 public:
  explicit Overwriter(const std::string& directory, SourceCounters* counters = nullptr)
      : writer_(create_cframe(
            make_local_store(
                UniqueFd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), counters),
            "f", settings(), {})) {
    const auto transaction = writer_->begin();
    transaction->resize(std::ssize(bytes_));
    for (std::int64_t chunk = 0; chunk < transaction->info().nchunks; ++chunk)
      put(*transaction, chunk);
    transaction->commit();
  }

  /// Overwrites a page and commits.
  void overwrite(std::mt19937& random) {
    const std::size_t at = random() % (bytes_.size() / 4096) * 4096;
    for (std::size_t i = 0; i < 4096; i += 3) bytes_[at + i] = static_cast<std::uint8_t>(random());
    const auto transaction = writer_->begin();
    put(*transaction, static_cast<std::int64_t>(at) / kChunk);
    transaction->commit();
  }

  FrameWriter& writer() { return *writer_; }

 private:
  static constexpr std::int32_t kChunk = 1 << 18;

  static FrameSettings settings() {
    FrameSettings settings;
    settings.chunksize = kChunk;
    settings.blocksize = 1 << 15;
    return settings;
  }

  static codec::EncodeSettings encoding() {
    codec::EncodeSettings settings;
    settings.codec = codec::CodecId::lz4;
    settings.clevel = 1;
    settings.blocksize = 1 << 15;
    return settings;
  }

  void put(Transaction& transaction, std::int64_t chunk) {
    constexpr std::size_t size{kChunk};
    const codec::Bytes content =
        codec::Bytes(bytes_).subspan(static_cast<std::size_t>(chunk) * size, size);
    transaction.put_chunk(chunk, encoder_.encode(content).bytes);
  }

  Buffer bytes_ = make_pages();
  codec::ChunkEncoder encoder_{encoding()};
  std::unique_ptr<FrameWriter> writer_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(commit_costs)

BOOST_AUTO_TEST_CASE(grow_with_the_index_and_not_with_the_contents,
                     *boost::unit_test::precondition(bloscfs::test::needs_plain_build)) {
  const auto disk = MemoryDisk::make();
  auto writer = make_long_frame(disk);
  // If chunks have equal sizes, each of their offsets takes a few bytes.
  BOOST_TEST(cost_of_one_chunk(*writer, *disk, 7) < 3u * kManyChunks);
  BOOST_TEST(cost_of_one_chunk(*writer, *disk, kManyChunks - 1) < 3u * kManyChunks);
  writer = open_writer(disk, "f");
  BOOST_TEST(cost_of_one_chunk(*writer, *disk, 60000) < 3u * kManyChunks);
  BOOST_TEST(contents_on(disk, "f").bytes.size() == kManyChunks * kTinyChunk);
}

BOOST_AUTO_TEST_CASE(take_one_write_for_chunks_that_lie_together) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(8 * 4096, 1), small_chunks());
  const auto transaction = writer->begin();
  disk->log.clear();
  put_contents(*transaction, {{1, pattern(4096, 2)}, {2, pattern(4096, 3)}, {6, pattern(4096, 4)}},
               6);
  BOOST_TEST(disk->log.size() == 2u);
}

BOOST_AUTO_TEST_CASE(take_one_write_for_index_and_trailer) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(600 * 4096, 1), small_chunks());
  const auto transaction = writer->begin();
  put_contents(*transaction, {{1, pattern(4096, 2)}}, 6);
  disk->log.clear();
  transaction->commit();
  const auto writes = std::count_if(
      disk->log.begin(), disk->log.end(),
      [](const StoreOperation& done) { return done.kind == StoreOperation::Kind::write; });
  BOOST_TEST(writes == 2);  // the chunks, and the header
}

BOOST_AUTO_TEST_CASE(read_again_nothing_that_the_last_one_wrote) {
  const ScratchDirectory directory;
  SourceCounters counters;
  Overwriter frame(directory.path(), &counters);
  std::mt19937 random(3);
  frame.overwrite(random);
  for (int i = 0; i < 20; ++i) {
    const auto before = counters.bytes.load();
    frame.overwrite(random);
    // The commit reads the frame's header, to see whether another program has changed the frame,
    // and the header of the replaced chunk. Index and trailer would be 2 KiB or more.
    BOOST_TEST(counters.bytes.load() - before < 1024u);
  }
  const auto known = frame.writer().snapshot();
  const auto found = open_path(directory / "f", {});
  BOOST_TEST(known->info().frame_len == found->info().frame_len);
  BOOST_TEST(known->info().cbytes == found->info().cbytes);
  BOOST_TEST(known->info().trailer_len == found->info().trailer_len);
  codec::BlockDecoder decoder;
  const auto as_known = known->read_page(0, nullptr, decoder);
  const auto as_found = found->read_page(0, nullptr, decoder);
  for (std::int64_t chunk = 0; chunk < found->info().nchunks; ++chunk)
    BOOST_TEST(as_known->place(chunk).stored_offset == as_found->place(chunk).stored_offset);
}

BOOST_AUTO_TEST_CASE(do_not_grow_with_zeros) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(4096, 1));
  const auto transaction = writer->begin();
  transaction->resize(std::int64_t{4096} << 20);
  disk->log.clear();
  transaction->commit();
  BOOST_TEST(disk->bytes_written() < std::uint64_t{256} << 10);
}

BOOST_AUTO_TEST_CASE(leave_a_frame_of_about_its_fresh_size) {
  constexpr int kOverwrites = 250;
  const ScratchDirectory directory;
  Overwriter frame(directory.path());
  std::mt19937 random(2);
  for (int i = 0; i < kOverwrites; ++i) frame.overwrite(random);
  const FileSize after = size_of(directory / "f");
  frame.writer().compact();
  const FileSize fresh = size_of(directory / "f");
  BOOST_TEST_MESSAGE("length " << after.length << ", occupied " << after.occupied << ", fresh "
                               << fresh.length << " and " << fresh.occupied);
  BOOST_TEST(after.length <= 3 * fresh.length);
  BOOST_TEST(after.occupied <= fresh.occupied * 3 / 2);
}

BOOST_AUTO_TEST_SUITE_END()
