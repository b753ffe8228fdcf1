// Arrays of all shapes, in chunks of all kinds, compared with arrays that are put together element
// by element.

#include "fs/view/part_reader.hpp"

#include <algorithm>
#include <random>

#include <boost/test/unit_test.hpp>

#include "tests/fs/view/reader_fixture.hpp"

using namespace bloscfs;
using namespace bloscfs::fs;
using namespace bloscfs::frame::test;
using namespace bloscfs::test;

namespace {

struct Shapes {
  std::vector<std::int64_t> shape;
  std::vector<std::int32_t> chunk, block;
};

struct Sample {
  FrameBuilder frame;
  Buffer elements;
};

std::int64_t blocks_along(const Shapes& shapes, std::size_t d) {
  return (shapes.chunk[d] + shapes.block[d] - 1) / shapes.block[d];
}

/// Returns the chunk of an element, and the element's offset in the chunk's contents.
std::pair<std::size_t, std::size_t> place_of(const Shapes& shapes, std::int64_t element) {
  std::int64_t chunk = 0, block = 0, in_block = 0, block_size = 1, chunks = 1, blocks = 1;
  for (std::size_t d = shapes.shape.size(); d-- > 0;) {
    const std::int64_t index = element % shapes.shape[d];
    element /= shapes.shape[d];
    const std::int64_t in_chunk = index % shapes.chunk[d];
    chunk += index / shapes.chunk[d] * chunks;
    block += in_chunk / shapes.block[d] * blocks;
    in_block += in_chunk % shapes.block[d] * block_size;
    chunks *= (shapes.shape[d] + shapes.chunk[d] - 1) / shapes.chunk[d];
    blocks *= blocks_along(shapes, d);
    block_size *= shapes.block[d];
  }
  return {static_cast<std::size_t>(chunk), static_cast<std::size_t>(block * block_size + in_block)};
}

/// Each chunk has the array's blocks, or smaller ones, or a single one.
Sample make_sample(const Shapes& shapes, std::mt19937& random) {
  Sample sample;
  std::int64_t elements = 1;
  std::size_t chunks = 1;
  std::int32_t chunksize = 1, blocksize = 1;
  for (std::size_t d = 0; d < shapes.shape.size(); ++d) {
    elements *= shapes.shape[d];
    chunks *= static_cast<std::size_t>((shapes.shape[d] + shapes.chunk[d] - 1) / shapes.chunk[d]);
    chunksize *= static_cast<std::int32_t>(blocks_along(shapes, d)) * shapes.block[d];
    blocksize *= shapes.block[d];
  }
  sample.frame.chunksize = chunksize;
  sample.frame.blocksize = blocksize;
  sample.frame.metalayers = {{"b2nd", array_layer(shapes.shape, shapes.chunk, shapes.block)}};
  std::vector<Buffer> contents;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const auto size = static_cast<std::size_t>(chunksize);
    const bool is_special = random() % 5 == 0;
    contents.push_back(is_special ? Buffer(size, 7)
                                  : pattern(size, static_cast<unsigned>(random())));
    const int blocks[] = {blocksize, std::max(blocksize / 3, 1), chunksize};
    sample.frame.add(is_special ? make_value_chunk({7}, chunksize)
                                : make_block_chunk(contents.back(), 1, blocks[random() % 3]),
                     size);
  }
  for (std::int64_t element = 0; element < elements; ++element) {
    const auto [chunk, at] = place_of(shapes, element);
    sample.elements.push_back(contents.at(chunk).at(at));
  }
  return sample;
}

Shapes random_shapes(std::mt19937& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  Shapes shapes;
  const int dimensions = pick(1, 5);
  for (int d = 0; d < dimensions; ++d) {
    // Some blocks are smaller and some larger than the 4 KiB that the reader decodes at once.
    const int extent = pick(0, 4) == 0 ? 1 : pick(1, dimensions > 3 ? 13 : 40);
    shapes.shape.push_back(extent);
    shapes.chunk.push_back(pick(0, 2) == 0 ? extent : pick(1, extent));
    shapes.block.push_back(pick(0, 2) == 0 ? shapes.chunk.back() : pick(1, shapes.chunk.back()));
  }
  return shapes;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(part_reader, ReaderFixture)

BOOST_AUTO_TEST_CASE(puts_together_arrays_of_all_shapes) {
  std::mt19937 random(5);
  for (int round = 0; round < 150; ++round) {
    const Sample sample = make_sample(random_shapes(random), random);
    const FileView file = view(sample.frame);
    const auto size = static_cast<std::int64_t>(sample.elements.size());
    BOOST_REQUIRE_EQUAL(file.size(), size);
    for (int i = 0; i < 6; ++i) {
      const auto begin = std::uniform_int_distribution<std::int64_t>(0, size - 1)(random);
      const auto length = std::uniform_int_distribution<std::int64_t>(1, size - begin)(random);
      if (i % 2 == 0) file.prefetch(request, begin, length, not_reached);
      const auto from = sample.elements.begin() + begin;
      BOOST_REQUIRE(read(file, begin, length) == Buffer(from, from + length));
    }
    BOOST_REQUIRE(read(file, 0, size) == sample.elements);
  }
}

BOOST_AUTO_TEST_SUITE_END()
