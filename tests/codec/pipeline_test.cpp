// Filters in all slots and orders: the test applies them as a writer would, and the decoder undoes
// them.
#include <boost/test/unit_test.hpp>

#include "codec/filter/bitshuffle.hpp"
#include "codec/filter/bytedelta.hpp"
#include "codec/filter/delta.hpp"
#include "codec/filter/shuffle.hpp"
#include "codec/names.hpp"
#include "tests/codec/chunk_builder.hpp"

namespace bloscfs::test {
namespace {

using codec::BytedeltaKind;
using codec::FilterId;

/// Applies one filter as the format describes it, with the scalar code.
ByteVector step(const ByteVector& in, FilterId id, std::size_t meta, std::size_t typesize,
                const ByteVector* reference) {
  ByteVector out(in);
  switch (id) {
    case FilterId::shuffle:
      codec::shuffle_scalar(in, out, meta != 0 ? meta : typesize);
      break;
    case FilterId::bitshuffle:
      codec::bitshuffle_scalar(in, out, typesize);
      break;
    case FilterId::delta:
      if (reference == nullptr) {
        codec::delta_running_scalar(in, out, typesize);
      } else {
        codec::delta_reference_scalar(out, *reference, typesize);
      }
      break;
    case FilterId::bytedelta:
      codec::bytedelta_scalar(in, out, meta != 0 ? meta : typesize, BytedeltaKind::current);
      break;
    case FilterId::bytedelta_old:
      codec::bytedelta_scalar(in, out, meta != 0 ? meta : typesize, BytedeltaKind::old);
      break;
    default:
      break;
  }
  return out;
}

ByteVector filter(ByteVector block, const ChunkPlan& plan, const ByteVector* reference) {
  for (const auto& slot : plan.filters) {
    block = step(block, slot.first, slot.second, plan.typesize, reference);
  }
  return block;
}

/// Makes a chunk of unsplit, uncompressed streams. Its last block is short.
ByteVector filtered_chunk(ChunkPlan plan, const ByteVector& contents, std::size_t blocksize) {
  plan.nbytes = static_cast<std::int32_t>(contents.size());
  plan.blocksize = static_cast<std::int32_t>(blocksize);
  std::vector<ByteVector> blocks;
  ByteVector first;
  for (std::size_t at = 0; at < contents.size(); at += blocksize) {
    const auto from = contents.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t size = std::min(blocksize, contents.size() - at);
    const ByteVector block(from, from + static_cast<std::ptrdiff_t>(size));
    if (at == 0) first = block;
    blocks.push_back(raw_stream(filter(block, plan, at == 0 ? nullptr : &first)));
  }
  return build_chunk(plan, blocks);
}

std::string description(const Steps& steps) {
  std::string text;
  for (const auto& slot : steps) text += codec::filter_name(slot.first) + " ";
  return text;
}

const std::vector<Steps>& pipelines() {
  static const std::vector<Steps> all = [] {
    const Steps single = {{FilterId::shuffle, 0},       {FilterId::bitshuffle, 0},
                          {FilterId::delta, 0},         {FilterId::bytedelta, 0},
                          {FilterId::bytedelta_old, 3}, {FilterId::shuffle, 5},
                          {FilterId::trunc_prec, 10},   {FilterId::int_trunc, 3}};
    std::vector<Steps> made;
    for (const auto& a : single) {
      made.push_back({a});
      for (const auto& b : single) {
        made.push_back({a, b});
        made.push_back({a, {FilterId::none, 0}, b, {FilterId::shuffle, 0}});
      }
    }
    made.push_back(Steps(6, {FilterId::shuffle, 0}));
    made.push_back(Steps(5, {FilterId::bitshuffle, 0}));
    made.push_back({{FilterId::delta, 0}, {FilterId::delta, 0}});
    return made;
  }();
  return all;
}

BOOST_AUTO_TEST_SUITE(pipeline)

BOOST_AUTO_TEST_CASE(undoes_every_pair_of_filters_in_order) {
  for (const int typesize : {1, 2, 3, 4, 8, 12, 16, 255}) {
    const ByteVector contents = walk(static_cast<std::size_t>(typesize) * 300 + 13);
    for (const Steps& steps : pipelines()) {
      ChunkPlan plan;
      plan.typesize = static_cast<std::uint8_t>(typesize);
      plan.filters = steps;
      const ByteVector chunk =
          filtered_chunk(plan, contents, static_cast<std::size_t>(typesize) * 100);
      BOOST_TEST((decode(chunk) == contents),
                 "typesize " << typesize << ", " << description(steps));
    }
  }
}

BOOST_AUTO_TEST_CASE(bytedelta_without_meta_takes_the_full_typesize) {
  ChunkPlan plan;
  plan.filters = {{FilterId::bytedelta, 0}};
  const ByteVector contents = walk(1500);
  ByteVector filtered(contents.size());
  codec::bytedelta_scalar(contents, filtered, 300, BytedeltaKind::current);
  plan.nbytes = plan.blocksize = 1500;
  const ByteVector chunk = build_chunk(plan, {raw_stream(filtered)});
  BOOST_TEST((decode(chunk, 300) == contents));
  BOOST_TEST((decode(chunk, 1) != contents));
}

BOOST_AUTO_TEST_CASE(version_2_bitshuffle_leaves_uneven_blocks_alone) {
  ChunkPlan plan;
  plan.version = 2;
  plan.flags = 0x14;
  plan.typesize = 4;
  plan.nbytes = plan.blocksize = 4 * 27;
  const ByteVector stored = noise(4 * 27);
  BOOST_TEST((decode(build_chunk(plan, {raw_stream(stored)})) == stored));
  plan.version = 4;
  ByteVector expected(stored.size());
  codec::bitunshuffle_scalar(stored, expected, 4);
  BOOST_TEST((decode(build_chunk(plan, {raw_stream(stored)})) == expected));
  plan.version = 2;
  plan.nbytes = plan.blocksize = 4 * 24 + 3;
  const ByteVector even = noise(4 * 24 + 3);
  expected.resize(even.size());
  codec::bitunshuffle_scalar(even, expected, 4);
  BOOST_TEST((decode(build_chunk(plan, {raw_stream(even)})) == expected));
}

BOOST_AUTO_TEST_CASE(names_filters_that_it_lacks) {
  ChunkPlan plan;
  plan.nbytes = plan.blocksize = 10;
  const std::pair<int, const char*> lacking[] = {
      {5, "filter filter5 is not supported"},
      {32, "filter ndcell: needs the shape of an array's blocks"},
      {33, "filter ndmean: needs the shape of an array's blocks"},
      {37, "filter filter37 is not supported"},
      {200, "filter filter200 is not supported"}};
  for (const auto& pair : lacking) {
    plan.filters = {{static_cast<FilterId>(pair.first), 0}};
    BOOST_TEST(unsupported(build_chunk(plan, {raw_stream(noise(10))})) == pair.second);
  }
  plan.flags = 0x07;  // memcpyed: the filters do not apply
  ByteVector copied = build_header(plan, 42);
  append(copied, noise(10));
  BOOST_TEST((decode(copied) == noise(10)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
