// Writes to sparse frames: files and their numbers, and which files are removed when.

#include <algorithm>
#include <cerrno>
#include <set>

#include <boost/test/unit_test.hpp>

#include "frame/store/sframe_names.hpp"
#include "tests/frame/errno_of.hpp"
#include "tests/frame/random_edit.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

std::unique_ptr<FrameWriter> make_sparse(const std::shared_ptr<MemoryDisk>& disk,
                                         const Buffer& content,
                                         const WriterSettings& settings = {}) {
  return make_frame(disk, "f", content, small_chunks(), settings, ContainerKind::sframe);
}

std::set<std::uint32_t> chunk_files(const std::shared_ptr<MemoryDisk>& disk) {
  std::set<std::uint32_t> numbers;
  for (const std::string& name : disk->root()->open_directory("f")->names())
    if (const auto number = chunk_file_number(name)) numbers.insert(*number);
  return numbers;
}

void replace_chunk(FrameWriter& writer, std::int64_t chunk, const Buffer& content) {
  const auto transaction = writer.begin();
  put_content(*transaction, chunk, content);
  transaction->commit();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sframe_writer)

BOOST_AUTO_TEST_CASE(reads_numbers_of_chunk_files) {
  BOOST_TEST(*chunk_file_number("0000000A.chunk") == 10u);
  BOOST_TEST(*chunk_file_number("FFFFFFFF.chunk") == UINT32_MAX);
  for (const char* other : {"0000000a.chunk", "000000A.chunk", "0000000A.chunk~", "chunks.b2frame",
                            "00000000A.chunk", ""})
    BOOST_CHECK(!chunk_file_number(other));
}

BOOST_AUTO_TEST_CASE(makes_a_sparse_frame) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_sparse(disk, pattern(10000, 1));
  BOOST_TEST(contents_on(disk, "f").bytes == pattern(10000, 1));
  BOOST_CHECK(chunk_files(disk) == std::set<std::uint32_t>({0, 1, 2}));
  std::int64_t stored = 0;
  for (const char* name : {"f/00000000.chunk", "f/00000001.chunk", "f/00000002.chunk"})
    stored += std::ssize(disk->bytes(name));
  BOOST_TEST(writer->snapshot()->info().cbytes == stored);
}

BOOST_AUTO_TEST_CASE(makes_an_empty_sparse_frame) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_sparse(disk, {});
  BOOST_TEST(contents_on(disk, "f").bytes.empty());
  BOOST_TEST(chunk_files(disk).empty());
}

BOOST_AUTO_TEST_CASE(replaces_a_chunk_by_a_file_of_a_new_number) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_sparse(disk, pattern(12288, 1), kNoGrace);
  auto before = writer->snapshot();
  replace_chunk(*writer, 1, pattern(4096, 2));
  BOOST_CHECK(chunk_files(disk) == std::set<std::uint32_t>({0, 1, 2, 3}));
  BOOST_TEST(before->unchanged());
  BOOST_TEST(contents_of(*before).bytes == pattern(12288, 1));
  before.reset();
  writer->tidy();
  BOOST_CHECK(chunk_files(disk) == std::set<std::uint32_t>({0, 2, 3}));
  std::int64_t stored = 0;
  for (const char* name : {"f/00000000.chunk", "f/00000002.chunk", "f/00000003.chunk"})
    stored += std::ssize(disk->bytes(name));
  BOOST_TEST(writer->snapshot()->info().cbytes == stored);
}

BOOST_AUTO_TEST_CASE(keeps_superseded_files_for_the_grace_period) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_sparse(disk, pattern(12288, 1));
  for (unsigned i = 0; i < 5; ++i) replace_chunk(*writer, 1, pattern(4096, i));
  writer->tidy();
  BOOST_TEST(chunk_files(disk).size() == 8u);
}

BOOST_AUTO_TEST_CASE(takes_numbers_that_no_file_has) {
  const auto disk = MemoryDisk::make();
  make_sparse(disk, pattern(12288, 1));
  disk->root()->open_directory("f")->create("0000002A.chunk", 0644);
  const auto writer = open_writer(disk, "f", kNoGrace);
  replace_chunk(*writer, 0, pattern(4096, 2));
  BOOST_TEST(chunk_files(disk).count(0x2b) == 1u);
  BOOST_TEST(disk->bytes("f/0000002A.chunk").empty());
}

BOOST_AUTO_TEST_CASE(runs_out_of_numbers_with_an_error) {
  const auto disk = MemoryDisk::make();
  make_sparse(disk, pattern(12288, 1));
  disk->root()->open_directory("f")->create("FFFFFFFF.chunk", 0644);
  const auto writer = open_writer(disk, "f");
  BOOST_TEST(errno_of([&] { replace_chunk(*writer, 0, pattern(4096, 2)); }) == ENOSPC);
  BOOST_TEST(contents_on(disk, "f").bytes == pattern(12288, 1));
}

BOOST_AUTO_TEST_CASE(never_removes_a_file_that_two_entries_name) {
  const auto disk = MemoryDisk::make();
  FrameBuilder frame;
  frame.frame_type = 1;
  frame.chunksize = 4096;
  frame.nbytes = 3 * 4096;
  frame.entries = {0, 0, 1};
  disk->root()->make_directory("f", 0755);
  const auto directory = disk->root()->open_directory("f");
  directory->create("chunks.b2frame", 0644)->write_at(0, frame.build());
  for (unsigned i = 0; i < 2; ++i)
    directory->create(chunk_file_name(i), 0644)
        ->write_at(0, make_block_chunk(pattern(4096, i), 1, 512));
  const auto writer = open_writer(disk, "f", kNoGrace);
  replace_chunk(*writer, 0, pattern(4096, 7));
  writer->tidy();
  writer->tidy();
  BOOST_TEST(chunk_files(disk).count(0) == 1u);
  replace_chunk(*writer, 1, pattern(4096, 8));
  writer->tidy();
  writer->tidy();
  BOOST_TEST(chunk_files(disk).count(0) == 0u);
  BOOST_TEST(contents_on(disk, "f").bytes.size() == 3u * 4096);
}

BOOST_AUTO_TEST_CASE(compacts_by_removing_files_without_entries) {
  const auto disk = MemoryDisk::make();
  make_sparse(disk, pattern(12288, 1));
  for (const char* name : {"0000002A.chunk", "00000030.chunk", "notes.txt"})
    disk->root()->open_directory("f")->create(name, 0644);
  const auto writer = open_writer(disk, "f");
  writer->compact();
  BOOST_CHECK(chunk_files(disk) == std::set<std::uint32_t>({0, 1, 2}));
  BOOST_TEST(disk->exists("f/notes.txt"));
  BOOST_TEST(contents_on(disk, "f").bytes == pattern(12288, 1));
}

BOOST_AUTO_TEST_CASE(gives_new_files_the_owner_and_mode_of_the_index) {
  const auto disk = MemoryDisk::make();
  make_sparse(disk, pattern(12288, 1));
  disk->root()
      ->open_directory("f")
      ->open("chunks.b2frame")
      ->set_attributes({12, 34, 0640, {1, 0}, {2, 0}, {{"user.a", pattern(5, 1)}}});
  const auto writer = open_writer(disk, "f");
  replace_chunk(*writer, 1, pattern(4096, 2));
  const auto directory = disk->root()->open_directory("f");
  const FileAttributes index = directory->open("chunks.b2frame")->attributes();
  BOOST_TEST(index.owner == 12u);
  BOOST_TEST(index.mode == 0640u);
  BOOST_TEST(index.modified.tv_sec == 2);
  BOOST_TEST(index.extended.size() == 1u);
  const FileAttributes chunk = directory->open("00000003.chunk")->attributes();
  BOOST_TEST(chunk.group == 34u);
  BOOST_TEST(chunk.mode == 0640u);
  BOOST_TEST(chunk.extended.empty());
}

BOOST_AUTO_TEST_CASE(keeps_attributes_that_change_during_a_commit) {
  const auto disk = MemoryDisk::make();
  make_sparse(disk, pattern(12288, 1));
  const auto directory = disk->root()->open_directory("f");
  directory->open("chunks.b2frame")
      ->set_attributes({0, 0, 0640, {1, 0}, {2, 0}, {{"user.gone", pattern(5, 1)}}});
  const auto writer = open_writer(disk, "f");
  const auto transaction = writer->begin();
  transaction->set_vlmetalayer("note", pattern(10, 1));
  transaction->write();
  transaction->flush();
  // Changes the attributes as chmod and setxattr do, without a new modification time.
  disk->nodes.at(directory->stamp("chunks.b2frame")->inode).attributes = {
      0, 0, 0604, {1, 0}, {2, 0}, {{"user.new", pattern(5, 2)}}};
  transaction->publish();
  transaction->flush();
  transaction->finish();
  const FileAttributes index = directory->open("chunks.b2frame")->attributes();
  BOOST_TEST(index.mode == 0604u);
  BOOST_REQUIRE(index.extended.size() == 1u);
  BOOST_TEST(index.extended.front().name == "user.new");
}

BOOST_AUTO_TEST_CASE(refuses_to_write_over_what_somebody_else_did) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_sparse(disk, pattern(8192, 1));
  replace_chunk(*open_writer(disk, "f"), 0, pattern(4096, 2));
  const auto files = chunk_files(disk);
  BOOST_TEST(errno_of([&] { writer->begin(); }) == ESTALE);
  BOOST_TEST(errno_of([&] { writer->tidy(); }) == ESTALE);
  BOOST_CHECK(chunk_files(disk) == files);
}

BOOST_AUTO_TEST_CASE(sets_times_without_disturbing_snapshots) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_sparse(disk, pattern(8192, 1));
  writer->set_times({1000, 0}, {2000, 0});
  BOOST_TEST(writer->attributes().accessed.tv_sec == 1000);
  BOOST_TEST(writer->attributes().modified.tv_sec == 2000);
  BOOST_TEST(writer->snapshot()->unchanged());
  replace_chunk(*writer, 0, pattern(4096, 2));
  BOOST_TEST(writer->snapshot()->unchanged());
}

BOOST_AUTO_TEST_CASE(gives_every_commit_a_length_of_its_own) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_sparse(disk, pattern(8192, 1), kNoGrace);
  std::set<std::int64_t> lengths{writer->snapshot()->info().frame_len};
  for (int i = 0; i < 60; ++i) {
    const auto transaction = writer->begin();
    transaction->resize(i % 3 == 0 ? 0 : 8192);
    transaction->commit();
    BOOST_TEST(lengths.insert(writer->snapshot()->info().frame_len).second);
    BOOST_TEST(contents_on(disk, "f").bytes == Buffer(i % 3 == 0 ? 0 : 8192));
  }
}

BOOST_AUTO_TEST_CASE(keeps_old_states_whole_through_random_commits) {
  std::mt19937 random(random_seed());
  const auto disk = MemoryDisk::make();
  FrameContents model;
  model.bytes = random_content(random, 30000);
  const auto writer = make_sparse(disk, model.bytes, kNoGrace);
  std::vector<std::pair<std::shared_ptr<const Snapshot>, FrameContents>> held;
  for (int commit = 0; commit < 80; ++commit) {
    if (random() % 4 == 0) held.emplace_back(writer->snapshot(), model);
    if (random() % 6 == 0 && !held.empty()) held.erase(held.begin());
    const auto transaction = writer->begin();
    edit_at_random(*transaction, model, random);
    transaction->commit();
    BOOST_TEST(contents_on(disk, "f") == model);
    for (const auto& [snapshot, contents] : held) {
      BOOST_TEST(snapshot->unchanged());
      BOOST_CHECK_MESSAGE(contents_of(*snapshot) == contents, "commit " << commit);
    }
  }
  held.clear();
  writer->tidy();
  BOOST_TEST(chunk_files(disk).size() <=
             static_cast<std::size_t>(writer->snapshot()->info().nchunks));
}

BOOST_AUTO_TEST_SUITE_END()
