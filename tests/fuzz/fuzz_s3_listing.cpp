// Listings and other answers of object stores, from arbitrary bytes.

#include <cstddef>
#include <cstdint>

#include "frame/remote/index_names.hpp"
#include "frame/remote/remote_error.hpp"
#include "frame/remote/s3_listing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloscfs::frame;
  const Bytes bytes(data, size);
  parse_s3_problem(bytes);
  parse_s3_copy(bytes);
  for (const char* prefix : {"", "a/"}) {
    try {
      const S3Page page = parse_s3_listing(bytes, prefix);
      if (page.entries.size() > page.keys) __builtin_trap();
      for (const ObjectEntry& entry : page.entries)
        if (!is_entry_name(entry.name)) __builtin_trap();
    } catch (const RemoteError&) {
    }
  }
  return 0;
}
