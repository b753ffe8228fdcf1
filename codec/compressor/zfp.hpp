#pragma once
// ZFP: arrays of floating-point numbers with loss, by libzfp where the build has it
// (codec/formats/plugins.md). One adapter for its three modes, which have an id each.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "codec/compressor/compressor.hpp"

namespace bloscfs::codec {

#ifdef HAVE_ZFP
std::unique_ptr<Decompressor> make_zfp_decompressor();
/// Streams with a number that is none, or not finite, are not compressed: ZFP keeps neither.
std::unique_ptr<Compressor> make_zfp_compressor(int clevel);
/// Bytes that decoding a stream to `size` bytes takes beside these and the stream.
std::int64_t zfp_memory(const CodecUse& use, std::int64_t size);
#else
inline constexpr std::nullptr_t make_zfp_decompressor = nullptr;
inline constexpr std::nullptr_t make_zfp_compressor = nullptr;
inline constexpr std::nullptr_t zfp_memory = nullptr;
#endif

/// What is wrong with writing streams of `size` bytes, in words; empty: nothing.
std::string zfp_problem(const CodecUse& use, std::int64_t size);

}  // namespace bloscfs::codec
