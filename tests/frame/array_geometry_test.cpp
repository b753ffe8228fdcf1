// ArrayGeometry, compared with the plain definition of where each item lies (frame/formats/b2nd.md,
// "Geometry").

#include "frame/array/array_geometry.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

using bloscfs::frame::ArrayGeometry;
using bloscfs::frame::ArrayInfo;

namespace {

using Position = std::pair<std::int64_t, std::int64_t>;  // chunk, offset in its contents

struct Model {
  ArrayInfo array;
  int typesize = 1;

  std::int64_t items() const {
    return std::accumulate(array.shape.begin(), array.shape.end(), std::int64_t{1},
                           std::multiplies<>());
  }
  std::int64_t nbytes() const { return items() * typesize; }

  Position locate(std::int64_t offset) const {
    std::int64_t item = offset / typesize;
    const std::size_t nd = array.shape.size();
    std::vector<std::int64_t> index(nd);
    for (std::size_t i = 0; i < nd; ++i) {
      const std::size_t d = array.fortran_order ? i : nd - 1 - i;
      index[d] = item % array.shape[d];
      item /= array.shape[d];
    }
    std::int64_t chunk = 0, block = 0, in_block = 0, block_items = 1;
    for (std::size_t d = 0; d < nd; ++d) {
      const std::int64_t c = array.chunkshape[d], b = array.blockshape[d];
      chunk = chunk * ((array.shape[d] + c - 1) / c) + index[d] / c;
      block = block * ((c + b - 1) / b) + index[d] % c / b;
      in_block = in_block * b + index[d] % c % b;
      block_items *= b;
    }
    return {chunk, (block * block_items + in_block) * typesize + offset % typesize};
  }
};

Model random_model(std::mt19937& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  Model model;
  model.typesize = pick(1, 9);
  model.array.fortran_order = pick(0, 2) == 0;
  const int nd = pick(0, 5);
  const int largest = nd > 3 ? 5 : nd > 2 ? 8 : 20;
  for (int d = 0; d < nd; ++d) {
    const int s = pick(1, largest);
    const bool exact = pick(0, 3) == 0;
    model.array.shape.push_back(s);
    model.array.chunkshape.push_back(exact ? s : pick(1, s + 2));
    model.array.blockshape.push_back(exact ? s : pick(1, model.array.chunkshape.back() + 1));
  }
  return model;
}

void check_range(const Model& model, const ArrayGeometry& geometry, std::int64_t offset,
                 std::int64_t length) {
  std::vector<Position> found(static_cast<std::size_t>(length), Position{-1, -1});
  Position previous{-1, -1};
  std::size_t bytes = 0;
  geometry.for_each_block(offset, length, [&](const ArrayGeometry::BlockPart& part) {
    const Position at{part.chunk, part.chunk_offset};
    BOOST_REQUIRE(model.array.fortran_order || previous < at);
    previous = at;
    BOOST_REQUIRE(!part.rows->empty());
    std::int64_t size = 0, end = 0;
    part.for_each_run([&](const ArrayGeometry::Run& run) {
      size += run.length;
      end = std::max(end, run.in_block + run.length);
    });
    BOOST_REQUIRE(end <= part.used_end);
    const ArrayGeometry::Run last = part.rows->back().last();
    BOOST_REQUIRE(model.array.fortran_order || last.in_block + last.length == end);
    if (length == model.nbytes()) {
      BOOST_REQUIRE_EQUAL(size, part.used_size);
      BOOST_REQUIRE_EQUAL(end, part.used_end);
    }
    part.for_each_run([&](const ArrayGeometry::Run& run) {
      BOOST_REQUIRE(run.length > 0 && run.in_block + run.length <= part.block_size);
      for (std::int64_t i = 0; i < run.length; ++i, ++bytes)
        found.at(static_cast<std::size_t>(run.array_offset - offset + i)) = {
            part.chunk, part.chunk_offset + run.in_block + i};
    });
  });
  BOOST_REQUIRE_EQUAL(bytes, static_cast<std::size_t>(length));
  for (std::int64_t i = 0; i < length; ++i)
    BOOST_REQUIRE(found[static_cast<std::size_t>(i)] == model.locate(offset + i));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(array_geometry)

BOOST_AUTO_TEST_CASE(maps_every_byte_of_random_arrays_once) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const Model model = random_model(random);
    const ArrayGeometry geometry(model.array, model.typesize);
    BOOST_REQUIRE_EQUAL(geometry.nbytes(), model.nbytes());
    check_range(model, geometry, 0, model.nbytes());
    for (int i = 0; i < 5; ++i) {
      const auto offset = std::uniform_int_distribution<std::int64_t>(0, model.nbytes())(random);
      const auto length =
          std::uniform_int_distribution<std::int64_t>(0, model.nbytes() - offset)(random);
      check_range(model, geometry, offset, length);
    }
  }
}

BOOST_AUTO_TEST_CASE(finds_the_run_of_a_chunk_and_the_slab) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    const Model model = random_model(random);
    const ArrayGeometry geometry(model.array, model.typesize);
    for (int i = 0; i < 4; ++i) {
      const auto offset =
          std::uniform_int_distribution<std::int64_t>(0, model.nbytes() - 1)(random);
      const std::int64_t chunk = model.locate(offset).first;
      std::int64_t end = offset;
      while (end < model.nbytes() && model.locate(end).first == chunk) ++end;
      const auto run = geometry.chunk_run(offset);
      BOOST_REQUIRE_EQUAL(run.chunk, chunk);
      BOOST_REQUIRE_EQUAL(run.end, end);
      const auto slab = geometry.slab_at(offset);
      BOOST_REQUIRE(slab.begin <= offset && offset < slab.end);
      std::vector<bool> seen(static_cast<std::size_t>(slab.last_chunk - slab.first_chunk));
      for (std::int64_t byte = slab.begin; byte < slab.end; ++byte)
        seen.at(static_cast<std::size_t>(model.locate(byte).first - slab.first_chunk)) = true;
      BOOST_REQUIRE(std::find(seen.begin(), seen.end(), false) == seen.end());
    }
  }
}

BOOST_AUTO_TEST_CASE(takes_an_array_without_dimensions_as_one_item) {
  const ArrayGeometry geometry(ArrayInfo{}, 8);
  BOOST_CHECK_EQUAL(geometry.nbytes(), 8);
  int visits = 0;
  geometry.for_each_block(2, 5, [&](const ArrayGeometry::BlockPart& part) {
    ++visits;
    BOOST_CHECK_EQUAL(part.chunk, 0);
    BOOST_CHECK_EQUAL(part.rows->at(0).first.in_block, 2);
    BOOST_CHECK_EQUAL(part.rows->at(0).first.length, 5);
  });
  BOOST_CHECK_EQUAL(visits, 1);
}

BOOST_AUTO_TEST_CASE(finds_nothing_in_an_array_of_size_zero) {
  ArrayInfo array;
  array.shape = {std::int64_t{1} << 62, 0, std::int64_t{1} << 62};
  array.chunkshape = {5, 0, 5};
  array.blockshape = {5, 0, 5};
  const ArrayGeometry geometry(array, 8);
  BOOST_CHECK_EQUAL(geometry.nbytes(), 0);
  geometry.for_each_block(0, 0, [](const ArrayGeometry::BlockPart&) { BOOST_ERROR("visited"); });
}

BOOST_AUTO_TEST_CASE(visits_few_blocks_for_a_short_range_that_crosses_a_plane) {
  ArrayInfo array;
  array.shape = {10, 1'000'000, 1'000'000};
  array.chunkshape = {1, 1, 1};
  array.blockshape = {1, 1, 1};
  const ArrayGeometry geometry(array, 1);
  int visits = 0;
  geometry.for_each_block(1'000'000'000'000 - 3, 6,
                          [&](const ArrayGeometry::BlockPart&) { ++visits; });
  BOOST_CHECK_EQUAL(visits, 6);
}

BOOST_AUTO_TEST_CASE(knows_the_rows_of_a_plane_as_one) {
  ArrayInfo array;
  array.shape = {64, 64, 64, 64};
  array.chunkshape = {8, 32, 32, 32};
  array.blockshape = {4, 16, 16, 16};
  const ArrayGeometry geometry(array, 8);
  geometry.for_each_block(0, geometry.nbytes(), [&](const ArrayGeometry::BlockPart& part) {
    // A block has 1024 rows, 16 for each of its 64 planes. All rows of a plane count as one, but
    // the first and the last row of the array are separate.
    BOOST_REQUIRE_LE(part.rows->size(), 4u * 16 + 8);
  });
}

BOOST_AUTO_TEST_SUITE_END()
