#pragma once
// A small file that is expensive to decode everywhere.

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// Returns an array of 256 columns. Each column is one chunk of 50 MB with six filters, and all of
/// them are the same bytes of the file. Reading 4 KiB needs every chunk, since a row has one
/// 16-byte item of each column.
ByteVector dear_array();

}  // namespace bloscfs::test
