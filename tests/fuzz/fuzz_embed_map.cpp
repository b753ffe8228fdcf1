// The map of embedded leaves, from arbitrary bytes.

#include <cstddef>
#include <cstdint>
#include <variant>

#include "frame/pystore/embed_map.hpp"
#include "tests/fuzz/frame_walk.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloscfs::frame;
  constexpr std::uint64_t kHeap = std::uint64_t{1} << 20;
  fuzz::tolerate([&] {
    LimitedCharge charge(std::size_t{1} << 16);
    const EmbedMap map(Bytes(data, size), kHeap, charge);
    if (map.memory() > charge.taken()) __builtin_trap();
    for (std::size_t at = 0; at < map.size(); at++) {
      const EmbedMap::Leaf stored = map.leaf(at);
      const auto* leaf = std::get_if<EmbeddedLeaf>(&stored);
      const bool outside =
          leaf != nullptr && (leaf->offset > kHeap || leaf->length > kHeap - leaf->offset);
      if (outside || !is_valid_key(map.key(at)) || map.find(map.key(at)) != at) __builtin_trap();
    }
  });
  return 0;
}
