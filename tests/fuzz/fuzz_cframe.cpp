// A contiguous frame of arbitrary bytes.

#include <cstddef>
#include <cstdint>

#include "frame/cframe/cframe.hpp"
#include "tests/fuzz/frame_walk.hpp"
#include "tests/fuzz/memory_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloscfs::frame;
  fuzz::tolerate([&] {
    fuzz::walk(*open_cframe(std::make_shared<fuzz::MemorySource>(Bytes(data, size)), {}));
  });
  return 0;
}
