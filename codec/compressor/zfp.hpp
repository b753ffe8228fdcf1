#pragma once
// ZFP, a lossy codec for arrays of floating-point numbers, by libzfp if the build has it
// (codec/formats/plugins.md). One adapter for its three modes, each of which has an id.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "codec/compressor/compressor.hpp"

namespace bloscfs::codec {

#ifdef HAVE_ZFP
std::unique_ptr<Decompressor> make_zfp_decompressor();
/// Does not compress streams with a NaN or an infinite number, because ZFP keeps neither.
std::unique_ptr<Compressor> make_zfp_compressor(int clevel);
/// Returns the bytes that decoding to `size` bytes needs in addition to these and the stream.
std::int64_t zfp_memory(const CodecUse& use, std::int64_t size);
#else
inline constexpr std::nullptr_t make_zfp_decompressor = nullptr;
inline constexpr std::nullptr_t make_zfp_compressor = nullptr;
inline constexpr std::nullptr_t zfp_memory = nullptr;
#endif

/// Returns why streams of `size` bytes cannot be written, as text; empty if they can.
std::string zfp_problem(const CodecUse& use, std::int64_t size);

}  // namespace bloscfs::codec
