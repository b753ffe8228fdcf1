// Sparse frames: a directory with one file per chunk.

#include "frame/sframe/sframe.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/error.hpp"
#include "frame/open/open.hpp"
#include "tests/frame/scratch_directory.hpp"

using namespace bloscfs::frame;
using bloscfs::codec::Error;
using bloscfs::frame::test::Buffer;
using bloscfs::frame::test::ScratchDirectory;

namespace {

/// A frame of three stored chunks, with the numbers 5, 6 and 7, and a special one.
struct Sample {
  Buffer content = bloscfs::frame::test::pattern(3500, 1);
  bloscfs::frame::test::FrameBuilder frame;
  std::vector<Buffer> chunks;

  Sample() {
    frame.frame_type = 1;
    frame.chunksize = 1000;
    frame.blocksize = 250;
    std::fill_n(content.begin() + 1000, 1000, std::uint8_t{0});
    for (const std::size_t at : {0U, 2000U, 3000U}) {
      const auto begin = content.begin() + static_cast<std::ptrdiff_t>(at);
      const Buffer part(begin, begin + (at == 3000 ? 500 : 1000));
      chunks.push_back(bloscfs::frame::test::make_block_chunk(part, 1, 250));
      frame.chunk_area.resize(frame.chunk_area.size() + chunks.back().size());
    }
    frame.nbytes = 3500;
    frame.entries = {5, bloscfs::frame::test::special_entry(0x81), 6, 7};
  }

  void write(const ScratchDirectory& directory) const {
    directory.write("chunks.b2frame", frame.build());
    for (std::size_t i = 0; i < chunks.size(); ++i)
      directory.write("0000000" + std::to_string(5 + i) + ".chunk", chunks[i]);
  }
};

OpenedChunk open_chunk(const Snapshot& snapshot, std::int64_t number) {
  bloscfs::codec::BlockDecoder decoder;
  const auto page = snapshot.read_page(0, nullptr, decoder);
  return snapshot.open_chunk(page->place(number), 1 << 20);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sframe)

BOOST_AUTO_TEST_CASE(reads_back_what_was_built) {
  const ScratchDirectory directory;
  const Sample sample;
  sample.write(directory);
  const auto snapshot = open_path(directory.path(), {});
  BOOST_REQUIRE(snapshot);
  BOOST_CHECK(snapshot->info().kind == ContainerKind::sframe);
  BOOST_TEST(bloscfs::frame::test::read_all(*snapshot) == sample.content);
  BOOST_CHECK(snapshot->unchanged());
}

BOOST_AUTO_TEST_CASE(finds_no_frame_where_there_is_none) {
  const ScratchDirectory directory;
  BOOST_CHECK(!open_path(directory.path(), {}));
  directory.write("chunks.b2frame", {1, 2, 3});
  BOOST_CHECK(!open_path(directory.path(), {}));
  directory.write("chunks.b2frame", bloscfs::frame::test::FrameBuilder().build());  // of type 0
  BOOST_CHECK(!open_path(directory.path(), {}));
  ::unlink((directory / "chunks.b2frame").c_str());
  BOOST_REQUIRE(::mkfifo((directory / "chunks.b2frame").c_str(), 0600) == 0);
  BOOST_CHECK(!open_path(directory.path(), {}));
}

BOOST_AUTO_TEST_CASE(fails_for_a_bad_chunk_file_alone) {
  const ScratchDirectory directory;
  const Sample sample;
  const auto check_bad = [&] {
    const auto snapshot = open_path(directory.path(), {});
    BOOST_CHECK_THROW(open_chunk(*snapshot, 2), Error);
    BOOST_CHECK_NO_THROW(open_chunk(*snapshot, 0));
    BOOST_CHECK_NO_THROW(open_chunk(*snapshot, 3));
  };
  sample.write(directory);
  const std::string second = directory / "00000006.chunk";
  ::unlink(second.c_str());
  check_bad();
  BOOST_REQUIRE(::symlink("00000005.chunk", second.c_str()) == 0);
  check_bad();
  ::unlink(second.c_str());
  BOOST_REQUIRE(::mkfifo(second.c_str(), 0600) == 0);
  check_bad();
  ::unlink(second.c_str());
  for (std::size_t size = 0; size < sample.chunks[1].size(); size += 13) {
    directory.write(
        "00000006.chunk",
        {sample.chunks[1].begin(), sample.chunks[1].begin() + static_cast<std::ptrdiff_t>(size)});
    check_bad();
  }
  directory.write("00000006.chunk", sample.chunks[2]);  // its contents have another size
  check_bad();
}

BOOST_AUTO_TEST_CASE(ignores_bytes_behind_a_chunk_and_files_that_no_entry_names) {
  const ScratchDirectory directory;
  Sample sample;
  for (Buffer& chunk : sample.chunks) chunk.resize(chunk.size() + 77, 0xee);
  sample.write(directory);
  directory.write("00000000.chunk", {});
  directory.write("notes.txt", {1});
  BOOST_TEST(bloscfs::frame::test::read_all(*open_path(directory.path(), {})) == sample.content);
}

BOOST_AUTO_TEST_CASE(refuses_a_chunk_number_beyond_32_bits) {
  const ScratchDirectory directory;
  Sample sample;
  sample.frame.entries[2] = (std::int64_t{1} << 32) + 6;
  sample.write(directory);
  BOOST_CHECK_THROW(open_chunk(*open_path(directory.path(), {}), 2), Error);
}

BOOST_AUTO_TEST_CASE(gives_an_io_error_when_a_chunk_file_is_replaced_between_reads) {
  const ScratchDirectory directory;
  const Sample sample;
  sample.write(directory);
  const auto snapshot = open_path(directory.path(), {});
  const OpenedChunk chunk = open_chunk(*snapshot, 0);
  Buffer out(10);
  BOOST_CHECK_NO_THROW(snapshot->read_stored(chunk, {40, 10}, out));
  directory.write("new", sample.chunks[0]);
  BOOST_REQUIRE(::rename((directory / "new").c_str(), (directory / "00000005.chunk").c_str()) == 0);
  BOOST_CHECK_EXCEPTION(snapshot->read_stored(chunk, {40, 10}, out), std::system_error,
                        [](const std::system_error& error) { return error.code().value() == EIO; });
}

BOOST_AUTO_TEST_CASE(notices_a_replaced_index) {
  const ScratchDirectory directory;
  const Sample sample;
  sample.write(directory);
  const auto snapshot = open_path(directory.path(), {});
  directory.write("new", sample.frame.build());
  BOOST_REQUIRE(::rename((directory / "new").c_str(), (directory / "chunks.b2frame").c_str()) == 0);
  BOOST_CHECK(!snapshot->unchanged());
}

BOOST_AUTO_TEST_CASE(refuses_an_index_file_cut_short_at_any_byte) {
  const Buffer index = Sample().frame.build();
  for (std::size_t size = 0; size < index.size(); ++size) {
    const Buffer cut(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(size));
    BOOST_CHECK_THROW(open_sframe(std::make_shared<bloscfs::frame::test::MemoryFiles>(cut)), Error);
  }
}

BOOST_AUTO_TEST_CASE(reads_chunks_of_different_sizes) {
  bloscfs::frame::test::FrameBuilder frame;
  frame.frame_type = 1;
  frame.general_flags = 0x53;
  frame.chunksize = 0;
  Buffer content;
  std::map<std::uint32_t, std::shared_ptr<bloscfs::frame::test::MemorySource>> chunks;
  for (unsigned i = 0; i < 200; ++i) {
    const Buffer part = bloscfs::frame::test::pattern(1 + i * 7 % 50, i);
    content.insert(content.end(), part.begin(), part.end());
    frame.entries.push_back(i);
    frame.nbytes += static_cast<std::int64_t>(part.size());
    chunks[i] = std::make_shared<bloscfs::frame::test::MemorySource>(
        bloscfs::frame::test::make_memcpy_chunk(part, 1), i);
  }
  const auto files = std::make_shared<bloscfs::frame::test::MemoryFiles>(frame.build());
  files->chunks = chunks;
  BOOST_TEST(bloscfs::frame::test::read_all(*open_sframe(files)) == content);
}

BOOST_AUTO_TEST_SUITE_END()
