#pragma once
// NPY headers: written as numpy.save of NumPy 1.24 writes them, and read.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/container/frame_info.hpp"
#include "fs/numpy/numpy_dtype.hpp"

namespace bloscfs::fs {

/// The header (format version 1.0) of an array whose descr has this text (NumpyDtype::descr).
/// `fortran_order` as numpy.save would say it: see is_fortran_only(). nullopt where version 1.0
/// cannot hold it: more than 65535 bytes, or characters beyond Latin-1.
std::optional<std::vector<std::uint8_t>> build_npy_header(std::string_view descr,
                                                          bool fortran_order,
                                                          const std::vector<std::int64_t>& shape);

/// True if elements in Fortran order are not also in C order: numpy.save says True only then.
bool is_fortran_only(const std::vector<std::int64_t>& shape);

/// Bytes of the items of an array; nullopt if they are more than 2^63 - 1.
std::optional<std::int64_t> array_nbytes(const std::vector<std::int64_t>& shape,
                                         std::int64_t itemsize);

struct NpyHeader {
  NumpyDtype dtype;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::int64_t nbytes = 0;      ///< of the items, which follow the header
  std::size_t header_size = 0;  ///< bytes, magic included
};

/// Bytes of a file's start that npy_header_size() looks at.
inline constexpr std::size_t kNpyPrefix = 12;

/// Size of the whole header of a file that starts with `prefix`; nullopt if it is no NPY file of
/// versions 1.0 to 3.0, or if its header is larger than 128 KiB.
std::optional<std::size_t> npy_header_size(codec::Bytes prefix);

/// Parses the start of a file, which holds at least npy_header_size() bytes. Throws codec::Error:
/// malformed, or unsupported for item types that parse_numpy_dtype() does not take.
NpyHeader parse_npy_header(codec::Bytes file);

/// Decides whether a container is shown as a NPY file: then its header, else
/// nullopt. The array's elements follow it, in Fortran order where it says so.
std::optional<std::vector<std::uint8_t>> npy_view(const frame::FrameInfo& info);

}  // namespace bloscfs::fs
