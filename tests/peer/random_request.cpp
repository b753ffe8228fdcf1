#include "tests/peer/random_request.hpp"

#include <algorithm>
#include <numeric>

#include "tests/support/contents.hpp"
#include "tests/support/draw.hpp"
#include "tests/support/hex.hpp"

namespace bloscfs::test {

namespace {

enum PeerFilter { kShuffle = 1, kBitshuffle = 2, kDelta = 3, kTruncate = 4, kByteDelta = 35 };

/// Never combines delta and bytedelta: C-Blosc2 2.17 cannot read back what it writes with both.
std::vector<std::pair<int, int>> random_filters(Random& random, int typesize) {
  std::vector<std::pair<int, int>> filters;
  if ((typesize == 4 || typesize == 8) && one_in(random, 6))
    filters.emplace_back(kTruncate, between(random, 3, 20));
  const bool delta = one_in(random, 5);
  if (delta) filters.emplace_back(kDelta, 0);
  switch (between(random, 0, 3)) {
    case 0:
      break;
    case 1:
      filters.emplace_back(kShuffle, 0);
      break;
    case 2:
      filters.emplace_back(kBitshuffle, 0);
      break;
    default:
      filters.emplace_back(kShuffle, 0);
      if (!delta && typesize <= 255) filters.emplace_back(kByteDelta, typesize);
  }
  return filters;
}

int random_typesize(Random& random) {
  if (one_in(random, 2)) return pick<int>(random, {1, 2, 4, 8, 16});
  return one_in(random, 4) ? between(random, 256, 300) : between(random, 1, 255);
}

std::string random_content(Random& random) {
  const auto size = static_cast<std::size_t>(between(random, 1, 300));
  return to_hex(make_contents(pick(random, content_kinds()), random(), size, 1));
}

/// Chooses sizes of whole items. With a partial item, C-Blosc2's delta and bytedelta lose bytes.
void choose_flat_sizes(Random& random, PeerRequest& request) {
  const int largest_items = std::max(1, 200000 / request.typesize);
  request.chunksize = between(random, 1, largest_items) * request.typesize;
  const int items = request.chunksize / request.typesize;
  const int blocks_of = pick<int>(random, {0, 0, between(random, 1, items)});
  request.blocksize = blocks_of * request.typesize;
  const int most_chunks = std::min(8, 1 + 1000000 / request.chunksize);
  const std::int64_t whole = between(random, 0, most_chunks);
  request.nbytes = whole * request.chunksize;
  if (whole == 0 || one_in(random, 2))
    request.nbytes += std::int64_t{between(random, 1, items)} * request.typesize;
  if (one_in(random, 3)) request.meta["fixed"] = random_content(random);
}

void choose_array(Random& random, PeerRequest& request) {
  const std::vector<std::pair<std::string, int>> dtypes{
      {"|u1", 1}, {"<i2", 2}, {"<i4", 4}, {"<f4", 4}, {"<f8", 8}, {"<c16", 16}, {"|S7", 7}};
  const auto& dtype = pick(random, dtypes);
  request.dtype = dtype.first;
  request.typesize = dtype.second;
  const int dimensions = between(random, 1, 4);
  const int longest = std::vector<int>{0, 60000, 240, 40, 15}[static_cast<std::size_t>(dimensions)];
  request.nbytes = request.typesize;
  for (int i = 0; i < dimensions; ++i) {
    const int extent = between(random, 1, longest);
    const int chunk = between(random, 1, extent);
    request.shape.push_back(extent);
    request.chunkshape.push_back(std::max(chunk, (extent + 5) / 6));
    request.blockshape.push_back(
        between(random, (request.chunkshape.back() + 7) / 8, request.chunkshape.back()));
    request.nbytes *= extent;
  }
}

}  // namespace

PeerRequest random_request(Random& random) {
  PeerRequest request;
  request.codec = pick<int>(random, {0, 1, 2, 4, 5});
  request.level = between(random, 0, 9);
  request.splitmode = between(random, 1, 4);
  request.contiguous = !one_in(random, 3);
  request.typesize = random_typesize(random);
  if (one_in(random, 3))
    choose_array(random, request);
  else
    choose_flat_sizes(random, request);
  request.filters = random_filters(random, request.typesize);
  request.kind = pick(random, content_kinds());
  request.seed = random();
  if (request.dtype.empty())
    for (int i = between(random, 0, 2); i > 0; --i)
      request.vlmeta["note" + std::to_string(i)] = random_content(random);
  return request;
}

bool is_lossy(const PeerRequest& request) {
  return std::any_of(request.filters.begin(), request.filters.end(),
                     [](const auto& filter) { return filter.first == kTruncate; });
}

std::string describe(const PeerRequest& request) {
  nlohmann::json facts = request;
  for (const char* noise : {"meta", "vlmeta", "action", "readback"}) facts.erase(noise);
  return facts.dump();
}

}  // namespace bloscfs::test
