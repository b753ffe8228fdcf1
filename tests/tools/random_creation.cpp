#include "tests/tools/random_creation.hpp"

#include <algorithm>
#include <cstdlib>

#include "tests/support/contents.hpp"
#include "tests/support/draw.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {
namespace {

void add(Arguments& options, const char* name, const std::string& value) {
  options.emplace_back(name);
  options.push_back(value);
}

Arguments random_compression(Random& random) {
  Arguments options;
  const auto codec = pick<std::string>(random, {"blosclz", "lz4", "lz4hc", "zlib", "zstd"});
  add(options, "--codec", codec);
  add(options, "--clevel", std::to_string(between(random, 0, 6)));
  add(options, "--threads", std::to_string(between(random, 1, 4)));
  if (one_in(random, 2))
    add(options, "--filters",
        pick<std::string>(random, {"none", "shuffle", "bitshuffle", "delta", "delta,shuffle",
                                   "shuffle,bytedelta"}));
  for (const char* flag : {"--checksum", "--sparse"})
    if (one_in(random, 4)) options.emplace_back(flag);
  if (one_in(random, 5) && codec != "blosclz" && codec != "zlib") options.emplace_back("--dict");
  return options;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += std::to_string(extent) + ",";
  if (!text.empty()) text.pop_back();
  return text;
}

void add_shapes(Random& random, const std::vector<std::int64_t>& shape, Arguments& options) {
  std::vector<std::int64_t> chunk, block;
  for (const std::int64_t extent : shape) {
    const std::int64_t least = std::max<std::int64_t>(1, extent);
    chunk.push_back(between(random, (least + 3) / 4, least));
    block.push_back(between(random, 1 + chunk.back() / 8, chunk.back()));
  }
  add(options, "--chunk-shape", shape_text(chunk));
  if (one_in(random, 2)) add(options, "--block-shape", shape_text(block));
}

ByteVector random_contents(Random& random, std::int64_t size, int typesize) {
  return make_contents(pick(random, content_kinds()), random(), static_cast<std::size_t>(size),
                       static_cast<std::size_t>(typesize));
}

}  // namespace

Creation random_flat_creation(Random& random) {
  Creation creation;
  const int typesize = pick<int>(random, {1, 2, 3, 4, 7, 8, 16, 100, 300});
  const int size = pick<int>(random, {0, 1, 31, 32, 1000, 65536, between(random, 1, 400000)});
  creation.input = random_contents(random, size, typesize);
  Arguments& options = creation.options = random_compression(random);
  if (one_in(random, 2)) add(options, "--typesize", std::to_string(typesize));
  if (one_in(random, 2))
    add(options, "--chunk-size", pick<std::string>(random, {"1K", "10000", "64K"}));
  if (one_in(random, 3))
    add(options, "--block-size", pick<std::string>(random, {"500", "4K", "1M"}));
  return creation;
}

Creation random_array_creation(Random& random) {
  Creation creation;
  creation.is_array = true;
  const auto [dtype, itemsize] = pick<std::pair<std::string, int>>(
      random,
      {{"|u1", 1}, {"<i2", 2}, {"<f4", 4}, {">f8", 8}, {"<c16", 16}, {"|S7", 7}, {"|b1", 1}});
  const int dimensions = between(random, 0, 4);
  const int longest = std::vector<int>{0, 60000, 240, 40, 14}[static_cast<std::size_t>(dimensions)];
  std::int64_t size = itemsize;
  for (int i = 0; i < dimensions; ++i) {
    creation.shape.push_back(one_in(random, 30) ? 0 : between(random, 1, longest));
    size *= creation.shape.back();
  }
  const std::string header = npy_header(dtype, creation.shape);
  creation.input = random_contents(random, size, itemsize);
  creation.input.insert(creation.input.begin(), header.begin(), header.end());
  Arguments& options = creation.options = random_compression(random);
  if (dimensions > 0 && one_in(random, 2)) {
    add_shapes(random, creation.shape, options);
  } else if (one_in(random, 2)) {
    add(options, "--chunk-size", "20K");
    add(options, "--block-size", "3000");
  }
  return creation;
}

std::string describe(const Creation& creation) {
  std::string text = std::to_string(creation.input.size()) + " bytes";
  if (creation.is_array) text += ", shape (" + shape_text(creation.shape) + ")";
  for (const std::string& option : creation.options) text += " " + option;
  return text;
}

std::uint64_t creation_seed() {
  const char* given = std::getenv("BLOSCFS_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device()();
}

}  // namespace bloscfs::test
