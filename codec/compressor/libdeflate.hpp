#pragma once
// What is used of libdeflate, which is loaded by the first call: its functions, without their
// prefix.

#include <libdeflate.h>

#include "codec/library/late_library.hpp"

namespace bloscfs::codec::libdeflate {

inline constinit LateLibrary library("libdeflate.so.0");

inline constinit LateFunction<decltype(::libdeflate_alloc_compressor)> alloc_compressor(
    library, "libdeflate_alloc_compressor");
inline constinit LateFunction<decltype(::libdeflate_alloc_decompressor)> alloc_decompressor(
    library, "libdeflate_alloc_decompressor");
inline constinit LateFunction<decltype(::libdeflate_free_compressor)> free_compressor(
    library, "libdeflate_free_compressor");
inline constinit LateFunction<decltype(::libdeflate_free_decompressor)> free_decompressor(
    library, "libdeflate_free_decompressor");
inline constinit LateFunction<decltype(::libdeflate_zlib_compress)> zlib_compress(
    library, "libdeflate_zlib_compress");
inline constinit LateFunction<decltype(::libdeflate_zlib_decompress_ex)> zlib_decompress_ex(
    library, "libdeflate_zlib_decompress_ex");

}  // namespace bloscfs::codec::libdeflate
