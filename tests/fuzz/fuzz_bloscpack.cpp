// A Bloscpack file of arbitrary bytes.

#include <cstddef>
#include <cstdint>

#include "frame/bloscpack.hpp"
#include "tests/frame/frame_builder.hpp"
#include "tests/fuzz/frame_walk.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloscfs::frame;
  fuzz::tolerate([&] {
    fuzz::walk(
        *open_bloscpack(std::make_shared<test::MemorySource>(test::Buffer(data, data + size)), {}));
  });
  return 0;
}
