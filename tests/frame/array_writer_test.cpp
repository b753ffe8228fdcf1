// New arrays, and arrays whose shape changes.

#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "frame/cframe/cframe_writer.hpp"
#include "frame/header/b2nd.hpp"
#include "tests/frame/errno_of.hpp"
#include "tests/frame/writing.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

ArrayInfo matrix(std::int64_t rows) {
  ArrayInfo array;
  array.shape = {rows, 6};
  array.chunkshape = {4, 6};
  array.blockshape = {2, 3};
  array.dtype = "<i4";
  return array;
}

FrameSettings matrix_settings(std::int64_t rows) {
  FrameSettings settings;
  settings.typesize = 4;
  settings.array = matrix(rows);
  return settings;
}

/// Makes a chunk of four rows, 96 bytes, block by block.
Buffer chunk_of_rows(unsigned first_row) {
  Buffer chunk(96);
  for (unsigned row = 0; row < 4; ++row)
    for (unsigned column = 0; column < 6; ++column) {
      const unsigned block = row / 2 * 2 + column / 3, in_block = row % 2 * 3 + column % 3;
      chunk[4 * (block * 6 + in_block)] =
          static_cast<std::uint8_t>(10 * (first_row + row) + column);
    }
  return chunk;
}

Buffer rows(unsigned count) {
  Buffer bytes(24 * count);
  for (unsigned row = 0; row < count; ++row)
    for (unsigned column = 0; column < 6; ++column)
      bytes[4 * (6 * row + column)] = static_cast<std::uint8_t>(10 * row + column);
  return bytes;
}

std::unique_ptr<FrameWriter> make_matrix(const std::shared_ptr<MemoryDisk>& disk,
                                         const FrameSettings& settings) {
  auto writer = create_cframe(disk->root(), "f", settings, {});
  const auto transaction = writer->begin();
  for (std::int64_t chunk = 0; chunk < transaction->info().nchunks; ++chunk)
    put_content(*transaction, chunk, chunk_of_rows(static_cast<unsigned>(4 * chunk)));
  transaction->commit();
  return writer;
}

/// Puts a long metalayer before b2nd, so that b2nd lies after the first sector.
FrameSettings with_late_shape(FrameSettings settings) {
  settings.metalayers = {{"b2nd", serialize_b2nd(*settings.array)}};
  settings.metalayers.insert(settings.metalayers.begin(), {"long", pattern(600, 1)});
  settings.chunksize = 96;
  settings.blocksize = 24;
  settings.array.reset();
  return settings;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(array_writer)

BOOST_AUTO_TEST_CASE(makes_an_array) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_matrix(disk, matrix_settings(6));
  const FrameContents found = contents_on(disk, "f");
  BOOST_TEST(found.bytes == rows(6));
  BOOST_CHECK(found.shape == std::vector<std::int64_t>({6, 6}));
  BOOST_TEST(*writer->snapshot()->info().array->dtype == "<i4");
}

BOOST_AUTO_TEST_CASE(begins_with_zeros) {
  const auto disk = MemoryDisk::make();
  const auto writer = create_cframe(disk->root(), "f", matrix_settings(6), {});
  writer->begin()->commit();
  BOOST_TEST(contents_on(disk, "f").bytes == Buffer(6 * 24));
}

BOOST_AUTO_TEST_CASE(adds_and_drops_rows_in_place) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_matrix(disk, matrix_settings(6));
  auto transaction = writer->begin();
  transaction->set_shape({11, 6});
  BOOST_TEST(transaction->info().nchunks == 3);
  put_content(*transaction, 2, chunk_of_rows(8));
  disk->log.clear();
  transaction->commit();
  for (const StoreOperation& operation : disk->log)
    BOOST_CHECK(operation.kind != StoreOperation::Kind::rename);
  BOOST_TEST(contents_on(disk, "f").bytes == rows(11));
  transaction = writer->begin();
  transaction->set_shape({3, 6});
  transaction->commit();
  BOOST_TEST(contents_on(disk, "f").bytes == rows(3));
}

BOOST_AUTO_TEST_CASE(takes_all_rows_away_and_others_in) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_matrix(disk, matrix_settings(6));
  auto transaction = writer->begin();
  transaction->set_shape({0, 6});
  transaction->commit();
  BOOST_TEST(contents_on(disk, "f").bytes.empty());
  transaction = writer->begin();
  transaction->set_shape({2, 6});
  put_content(*transaction, 0, chunk_of_rows(0));
  transaction->commit();
  BOOST_TEST(contents_on(disk, "f").bytes == rows(2));
}

BOOST_AUTO_TEST_CASE(makes_a_new_file_for_a_shape_behind_the_first_sector) {
  const auto disk = MemoryDisk::make();
  auto writer = create_cframe(disk->root(), "f", with_late_shape(matrix_settings(6)), {});
  {
    const auto transaction = writer->begin();
    transaction->resize(192);
    put_content(*transaction, 0, chunk_of_rows(0));
    put_content(*transaction, 1, chunk_of_rows(4));
    transaction->commit();
  }
  writer = open_writer(disk, "f");
  const auto before = writer->snapshot();
  BOOST_REQUIRE(before->info().array);
  auto transaction = writer->begin();
  transaction->set_shape({11, 6});
  put_content(*transaction, 2, chunk_of_rows(8));
  disk->log.clear();
  transaction->commit();
  BOOST_TEST(std::count_if(disk->log.begin(), disk->log.end(), [](const StoreOperation& operation) {
               return operation.kind == StoreOperation::Kind::exchange;
             }) == 1);
  BOOST_TEST(contents_on(disk, "f").bytes == rows(11));
  BOOST_TEST(contents_of(*before).bytes == rows(6));
  disk->nodes.at(disk->find(MemoryDisk::kRoot, "f")).links = 2;
  transaction = writer->begin();
  transaction->set_shape({3, 6});
  BOOST_TEST(errno_of([&] { transaction->commit(); }) == EOPNOTSUPP);
  BOOST_TEST(contents_on(disk, "f").bytes == rows(11));
}

BOOST_AUTO_TEST_CASE(refuses_shapes_that_would_renumber_chunks) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_matrix(disk, matrix_settings(6));
  const auto transaction = writer->begin();
  BOOST_TEST(errno_of([&] { transaction->set_shape({6, 7}); }) == EINVAL);
  BOOST_TEST(errno_of([&] { transaction->set_shape({36}); }) == EINVAL);
  BOOST_TEST(errno_of([&] { transaction->set_shape({-1, 6}); }) == EINVAL);
  BOOST_TEST(errno_of([&] { transaction->set_shape({INT64_MAX, 6}); }) == EINVAL);
  BOOST_TEST(errno_of([&] { transaction->resize(96); }) == EINVAL);
}

BOOST_AUTO_TEST_CASE(refuses_chunks_of_other_blocks) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_matrix(disk, matrix_settings(6));
  const auto transaction = writer->begin();
  const Buffer chunk = make_block_chunk(chunk_of_rows(0), 4, 48);
  BOOST_TEST(errno_of([&] { transaction->put_chunk(0, chunk); }) == EINVAL);
  transaction->put_chunk(0, make_block_chunk(chunk_of_rows(0), 4, 24));
}

BOOST_AUTO_TEST_CASE(refuses_arrays_that_cannot_be) {
  const auto disk = MemoryDisk::make();
  const auto refused = [&](const auto& change) {
    FrameSettings settings = matrix_settings(6);
    change(*settings.array);
    return errno_of([&] { create_cframe(disk->root(), "g", settings, {}); }) == EINVAL;
  };
  BOOST_TEST(refused([](ArrayInfo& array) { array.blockshape.pop_back(); }));
  BOOST_TEST(refused([](ArrayInfo& array) { array.chunkshape[0] = 0; }));
  BOOST_TEST(refused([](ArrayInfo& array) { array.chunkshape[0] = INT32_MAX; }));
  BOOST_TEST(refused([](ArrayInfo& array) { array.shape[0] = INT64_MAX; }));
  BOOST_TEST(disk->names().empty());
}

BOOST_AUTO_TEST_SUITE_END()
