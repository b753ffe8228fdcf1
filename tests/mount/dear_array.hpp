#pragma once
// A small file of which every byte costs much.

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// An array of 256 columns, each a chunk of 60 MB with six filters, all of them the same bytes of
/// the file: each 4 KiB of it have an item of every column.
ByteVector dear_array();

}  // namespace bloscfs::test
