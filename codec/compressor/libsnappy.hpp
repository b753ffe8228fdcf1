#pragma once
// What is used of libsnappy, which is loaded by the first call.

#include <snappy-c.h>

#include "codec/library/late_library.hpp"

namespace bloscfs::codec::libsnappy {

inline constinit LateLibrary library("libsnappy.so.1");

inline constinit LateFunction<decltype(::snappy_uncompress)> uncompress(library,
                                                                        "snappy_uncompress");
inline constinit LateFunction<decltype(::snappy_uncompressed_length)> uncompressed_length(
    library, "snappy_uncompressed_length");

}  // namespace bloscfs::codec::libsnappy
