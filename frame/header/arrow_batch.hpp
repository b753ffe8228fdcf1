#pragma once
// Batches of lists that python-blosc2 keeps as streams of Arrow's IPC format
// (frame/formats/metalayers.md, "Objects").

#include <cstdint>
#include <vector>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline header {

/// The values of the first column of a stream as a msgpack array. Throws Error: malformed;
/// unsupported for types other than integers, floating-point numbers, booleans, texts, bytes, lists
/// and structs of these, for dictionaries, and for compressed buffers; too_large where the array
/// would take more than 32 MiB.
std::vector<std::uint8_t> arrow_to_msgpack(codec::Bytes stream);

}  // namespace bloscfs::frame::inline header
