#pragma once
// NPY headers: reads them, and writes them as numpy.save of NumPy 1.24 does.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/container/frame_info.hpp"
#include "fs/numpy/numpy_dtype.hpp"

namespace bloscfs::fs {

/// Returns the header (format version 1.0) of an array whose descr has this text
/// (NumpyDtype::descr). `fortran_order` is what numpy.save would write: see is_fortran_only().
/// Returns nullopt if version 1.0 cannot hold the header: it has more than 65535 bytes, or
/// characters beyond Latin-1.
std::optional<std::vector<std::uint8_t>> build_npy_header(std::string_view descr,
                                                          bool fortran_order,
                                                          const std::vector<std::int64_t>& shape);

/// True if elements in Fortran order are not in C order as well. Only then does numpy.save write
/// True.
bool is_fortran_only(const std::vector<std::int64_t>& shape);

/// Returns the bytes of the items of an array; nullopt if they are more than 2^63 - 1.
std::optional<std::int64_t> array_nbytes(const std::vector<std::int64_t>& shape,
                                         std::int64_t itemsize);

struct NpyHeader {
  NumpyDtype dtype;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::int64_t nbytes = 0;      ///< of the items, which follow the header
  std::size_t header_size = 0;  ///< bytes, magic included
};

/// How many bytes from the start of a file npy_header_size() needs.
inline constexpr std::size_t kNpyPrefix = 12;

/// Returns the size of the whole header of a file that starts with `prefix`. Returns nullopt if the
/// file is no NPY file of versions 1.0 to 3.0, or its header is larger than 128 KiB.
std::optional<std::size_t> npy_header_size(codec::Bytes prefix);

/// Parses the header at the start of a file. `file` must hold at least npy_header_size() bytes.
/// Throws codec::Error: malformed, or unsupported for item types that numpy_dtype_of_descr() does
/// not take.
NpyHeader parse_npy_header(codec::Bytes file);

/// Returns the NPY header of a container that is shown as a NPY file; nullopt for other containers.
/// The array's elements follow the header, in Fortran order if the header says so.
std::optional<std::vector<std::uint8_t>> npy_view(const frame::FrameInfo& info);

}  // namespace bloscfs::fs
