// Metalayers as `b2frame info` shows them: any bytes become JSON, text or hexadecimal digits.

#include "frame/header/msgpack_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto shown = bloscfs::frame::metalayer_to_json({data, size});
  return bloscfs::frame::to_line(shown).empty() ? 1 : 0;
}
