#pragma once
// What is used of minizip, which is loaded by the first call.

#include <minizip/zip.h>

#include "codec/library/late_library.hpp"

namespace bloscfs::frame::libminizip {

inline constinit codec::LateLibrary library("libminizip.so.1");

inline constinit codec::LateFunction<decltype(::zipClose)> zipClose(library, "zipClose");
inline constinit codec::LateFunction<decltype(::zipCloseFileInZip)> zipCloseFileInZip(
    library, "zipCloseFileInZip");
inline constinit codec::LateFunction<decltype(::zipOpen2_64)> zipOpen2_64(library, "zipOpen2_64");
inline constinit codec::LateFunction<decltype(::zipOpenNewFileInZip4_64)> zipOpenNewFileInZip4_64(
    library, "zipOpenNewFileInZip4_64");
inline constinit codec::LateFunction<decltype(::zipWriteInFileInZip)> zipWriteInFileInZip(
    library, "zipWriteInFileInZip");

}  // namespace bloscfs::frame::libminizip
