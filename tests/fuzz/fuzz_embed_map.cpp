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
    const EmbedMap map(Bytes(data, size), kHeap);
    for (const EmbedMap::Entry& entry : map.entries()) {
      const auto* leaf = std::get_if<EmbeddedLeaf>(&entry.leaf);
      const bool outside =
          leaf != nullptr && (leaf->offset > kHeap || leaf->length > kHeap - leaf->offset);
      if (outside || !is_valid_key(entry.key) || map.find(entry.key) != &entry) __builtin_trap();
    }
  });
  return 0;
}
