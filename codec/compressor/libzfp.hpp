#pragma once
// What is used of libzfp, which is loaded by the first call: its functions, without their prefix.
// It brings the run-time library of OpenMP.

#include <boost/preprocessor/stringize.hpp>
#include <zfp.h>

#include "codec/library/late_library.hpp"

namespace bloscfs::codec::libzfp {

inline constinit LateLibrary library("libzfp.so." BOOST_PP_STRINGIZE(ZFP_VERSION_MAJOR));

inline constinit LateFunction<decltype(::stream_close)> bits_close(library, "stream_close");
inline constinit LateFunction<decltype(::stream_open)> bits_open(library, "stream_open");
inline constinit LateFunction<decltype(::zfp_compress)> compress(library, "zfp_compress");
inline constinit LateFunction<decltype(::zfp_decompress)> decompress(library, "zfp_decompress");
inline constinit LateFunction<decltype(::zfp_field_1d)> field_1d(library, "zfp_field_1d");
inline constinit LateFunction<decltype(::zfp_field_2d)> field_2d(library, "zfp_field_2d");
inline constinit LateFunction<decltype(::zfp_field_3d)> field_3d(library, "zfp_field_3d");
inline constinit LateFunction<decltype(::zfp_field_4d)> field_4d(library, "zfp_field_4d");
inline constinit LateFunction<decltype(::zfp_field_free)> field_free(library, "zfp_field_free");
inline constinit LateFunction<decltype(::zfp_stream_close)> stream_close(library,
                                                                         "zfp_stream_close");
inline constinit LateFunction<decltype(::zfp_stream_maximum_size)> stream_maximum_size(
    library, "zfp_stream_maximum_size");
inline constinit LateFunction<decltype(::zfp_stream_open)> stream_open(library, "zfp_stream_open");
inline constinit LateFunction<decltype(::zfp_stream_rewind)> stream_rewind(library,
                                                                           "zfp_stream_rewind");
inline constinit LateFunction<decltype(::zfp_stream_set_accuracy)> stream_set_accuracy(
    library, "zfp_stream_set_accuracy");
inline constinit LateFunction<decltype(::zfp_stream_set_bit_stream)> stream_set_bit_stream(
    library, "zfp_stream_set_bit_stream");
inline constinit LateFunction<decltype(::zfp_stream_set_precision)> stream_set_precision(
    library, "zfp_stream_set_precision");
inline constinit LateFunction<decltype(::zfp_stream_set_rate)> stream_set_rate(
    library, "zfp_stream_set_rate");

}  // namespace bloscfs::codec::libzfp
