#pragma once
// What is used of libpng, which is loaded by the first call.

#include <boost/preprocessor/stringize.hpp>
#include <png.h>

#include "codec/library/late_library.hpp"

namespace bloscfs::tools::libpng {

inline constinit codec::LateLibrary library(
    "libpng16.so." BOOST_PP_STRINGIZE(PNG_LIBPNG_VER_SONUM));

inline constinit codec::LateFunction<decltype(::png_image_write_to_memory)> image_write_to_memory(
    library, "png_image_write_to_memory");

}  // namespace bloscfs::tools::libpng
