// A ZIP file of arbitrary bytes, read as a store of python-blosc2.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "frame/pystore/python_store.hpp"
#include "tests/fuzz/frame_walk.hpp"
#include "tests/fuzz/memory_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloscfs::frame;
  const auto source = std::make_shared<fuzz::MemorySource>(Bytes(data, size));
  fuzz::tolerate([&] {
    LimitedCharge charge(std::size_t{1} << 16);
    const ZipDirectory zip(source, {}, charge);
    if (zip.memory() > charge.taken()) __builtin_trap();
    for (const ZipMember& member : zip.members())
      fuzz::tolerate([&] {
        std::uint8_t last = 0;
        const auto opened = zip.open(member);
        if (member.size > 0 && opened->read_at(member.size - 1, {&last, 1}) != 1) __builtin_trap();
      });
  });
  fuzz::tolerate([&] {
    const auto charge = std::make_shared<LimitedCharge>(std::size_t{1} << 22);
    const auto store = open_zip_store(source, {}, charge);
    if (!store) return;
    if (store->memory() > charge->taken()) __builtin_trap();
    fuzz::tolerate([&] {
      LimitedCharge of_listing(std::size_t{1} << 14);
      const auto entries = store->list("/", of_listing);
      if (entries.capacity() * sizeof(StoreEntry) > of_listing.taken()) __builtin_trap();
    });
    store->for_each_leaf("/", [&](const std::string& key, const Leaf& leaf) {
      const auto found = store->find(key);
      if (!found || !found->leaf || *found->leaf != leaf) __builtin_trap();
      fuzz::tolerate([&] {
        if (const auto snapshot = store->open(leaf)) fuzz::walk(*snapshot);
      });
    });
    fuzz::tolerate([&] { static_cast<void>(store->attributes("/")); });
    static_cast<void>(store->group_kind("/"));
  });
  return 0;
}
