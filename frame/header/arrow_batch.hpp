#pragma once
// Reads batches of objects that python-blosc2 stores as streams of Arrow's IPC format
// (frame/formats/metalayers.md, "Objects").

#include <cstdint>
#include <vector>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline header {

/// Returns the values of the first column of a stream as a msgpack array. Throws Error: malformed;
/// unsupported for dictionaries, compressed buffers, and types other than integers, floating-point
/// numbers, booleans, texts, bytes, and lists and structs of these; too_large if the array would
/// take more than 32 MiB.
std::vector<std::uint8_t> arrow_to_msgpack(codec::Bytes stream);

}  // namespace bloscfs::frame::inline header
