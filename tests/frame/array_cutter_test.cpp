// ArrayCutter, compared with ArrayGeometry, which defines where each byte of an array lies.

#include "frame/array/array_cutter.hpp"

#include <numeric>
#include <random>

#include <boost/test/unit_test.hpp>

#include "frame/array/array_geometry.hpp"
#include "frame/header/b2nd.hpp"

using namespace bloscfs::frame;
using bloscfs::codec::Bytes;

namespace {

using Contents = std::vector<std::vector<std::uint8_t>>;  // one element for each chunk

struct Sample {
  ArrayInfo array;
  std::int32_t typesize = 1;
  std::vector<std::uint8_t> bytes;
};

Sample random_sample(std::mt19937& random) {
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  Sample sample;
  sample.typesize = static_cast<std::int32_t>(between(1, 9));
  sample.array.fortran_order = between(0, 3) == 0;
  std::int64_t size = sample.typesize;
  for (auto i = between(0, 4); i > 0; --i) {
    const std::int64_t extent = between(1, 12);
    // Runs depend on which chunks and blocks are as long as a dimension, and which have one item.
    const std::int64_t chunk = between(0, 2) == 0 ? extent : between(1, extent + 2);
    const std::int64_t block = between(0, 2) == 0 ? chunk : between(1, chunk);
    sample.array.shape.push_back(extent);
    sample.array.chunkshape.push_back(static_cast<std::int32_t>(chunk));
    sample.array.blockshape.push_back(static_cast<std::int32_t>(block));
    size *= extent;
  }
  sample.bytes.resize(static_cast<std::size_t>(size));
  for (auto& byte : sample.bytes) byte = static_cast<std::uint8_t>(between(1, 255));
  return sample;
}

Contents expected_contents(const Sample& sample) {
  const ArraySizes sizes = array_sizes(sample.array, sample.typesize);
  Contents chunks(static_cast<std::size_t>(sizes.nbytes / sizes.chunksize),
                  std::vector<std::uint8_t>(static_cast<std::size_t>(sizes.chunksize)));
  const ArrayGeometry geometry(sample.array, sample.typesize);
  geometry.for_each_block(0, geometry.nbytes(), [&](const ArrayGeometry::BlockPart& part) {
    part.for_each_run([&](const ArrayGeometry::Run& run) {
      std::copy_n(
          sample.bytes.begin() + run.array_offset, run.length,
          chunks[static_cast<std::size_t>(part.chunk)].begin() + part.chunk_offset + run.in_block);
    });
  });
  return chunks;
}

std::vector<std::uint8_t> cut(const ArrayCutter& cutter, const Sample& sample, std::int64_t chunk) {
  const auto range = cutter.range(chunk);
  std::vector<std::uint8_t> contents(static_cast<std::size_t>(cutter.chunksize()), 0xEE);
  cutter.cut(chunk,
             Bytes(sample.bytes).subspan(static_cast<std::size_t>(range.begin), range.size()),
             contents);
  return contents;
}

ArrayCutter cutter_of(std::vector<std::int64_t> shape, std::vector<std::int32_t> chunk,
                      std::vector<std::int32_t> block) {
  ArrayInfo array;
  array.shape = std::move(shape);
  array.chunkshape = std::move(chunk);
  array.blockshape = std::move(block);
  return ArrayCutter(array, 4);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(array_cutter)

BOOST_AUTO_TEST_CASE(puts_every_byte_where_the_geometry_says) {
  std::mt19937 random(20240607);
  for (int i = 0; i < 2000; ++i) {
    const Sample sample = random_sample(random);
    const ArrayCutter cutter(sample.array, sample.typesize);
    const Contents expected = expected_contents(sample);
    BOOST_TEST_REQUIRE(cutter.chunk_count() == std::ssize(expected));
    for (std::int64_t chunk = 0; chunk < cutter.chunk_count(); ++chunk)
      BOOST_TEST((cut(cutter, sample, chunk) == expected[static_cast<std::size_t>(chunk)]));
  }
}

BOOST_AUTO_TEST_CASE(knows_chunks_that_are_runs) {
  std::mt19937 random(20240608);
  int runs = 0, ordered = 0;
  for (int i = 0; i < 2000; ++i) {
    const Sample sample = random_sample(random);
    const ArrayCutter cutter(sample.array, sample.typesize);
    std::int64_t end = 0;
    for (std::int64_t chunk = 0; chunk < cutter.chunk_count() && cutter.cuts_runs(); ++chunk) {
      const auto range = cutter.range(chunk);
      BOOST_TEST(range.begin == end);
      end = range.end;
      if (!cutter.keeps_order()) continue;
      std::vector<std::uint8_t> run(sample.bytes.begin() + range.begin,
                                    sample.bytes.begin() + range.end);
      run.resize(static_cast<std::size_t>(cutter.chunksize()));
      BOOST_TEST((cut(cutter, sample, chunk) == run));
    }
    runs += cutter.cuts_runs();
    ordered += cutter.keeps_order();
  }
  BOOST_TEST(runs > 200);
  BOOST_TEST(ordered > 100);
  BOOST_TEST(ordered < runs);
}

BOOST_AUTO_TEST_CASE(sees_runs_in_rows_and_not_in_tiles) {
  BOOST_TEST(cutter_of({100, 50}, {10, 50}, {3, 50}).keeps_order());
  BOOST_TEST(cutter_of({100, 50}, {1, 20}, {1, 7}).keeps_order());
  BOOST_TEST(!cutter_of({100, 50}, {10, 50}, {10, 7}).keeps_order());
  BOOST_TEST(cutter_of({100, 50}, {10, 50}, {10, 7}).cuts_runs());
  BOOST_TEST(!cutter_of({100, 50}, {10, 25}, {10, 25}).cuts_runs());
}

BOOST_AUTO_TEST_SUITE_END()
