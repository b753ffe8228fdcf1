// Listings and other answers of object stores, from arbitrary bytes.

#include <cstddef>
#include <cstdint>
#include <system_error>

#include "frame/remote/index_names.hpp"
#include "frame/remote/s3_listing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloscfs::frame;
  const Bytes bytes(data, size);
  parse_s3_problem(bytes);
  parse_s3_copy(bytes);
  for (const char* prefix : {"", "a/"}) {
    LimitedCharge charge(std::size_t{1} << 20);
    try {
      const S3Page page = parse_s3_listing(bytes, prefix, charge);
      if (page.entries.size() > page.keys) __builtin_trap();
      std::size_t memory = page.entries.capacity() * sizeof(ObjectEntry);
      for (const ObjectEntry& entry : page.entries) memory += entry.memory() - sizeof entry;
      if (memory > charge.taken()) __builtin_trap();
      for (const ObjectEntry& entry : page.entries)
        if (!is_entry_name(entry.name)) __builtin_trap();
    } catch (const std::system_error&) {
    }
  }
  return 0;
}
