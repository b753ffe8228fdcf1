#pragma once
// Makes the header that numpy.save (1.24, format version 1.0) writes, in a slow and obvious way.

#include <cstdint>
#include <string>
#include <vector>

namespace bloscfs::test {

/// `descr` is a simple dtype string such as "<f8".
std::string npy_header(const std::string& descr, const std::vector<std::int64_t>& shape,
                       bool fortran_order = false);

}  // namespace bloscfs::test
