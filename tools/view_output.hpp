#pragma once
// Writes what views show to files.

#include <cstdint>
#include <functional>

#include "fs/view/file_view.hpp"
#include "tools/input.hpp"
#include "tools/output_file.hpp"

namespace bloscfs::tools {

/// Bytes [begin, end) of a file.
struct FileRange {
  std::int64_t begin, end;
};

/// Writes a range of `view`, which is one of `input`'s; holes become holes. `done` is called with
/// how many bytes are written. Throws Interrupted.
void write_view(const fs::FileView& view, const FileRange& range, Input& input, OutputFile& out,
                const std::function<void(std::int64_t)>& done);

}  // namespace bloscfs::tools
