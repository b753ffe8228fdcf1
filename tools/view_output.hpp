#pragma once
// Writes what views show to files.

#include <cstdint>
#include <functional>
#include <vector>

#include "fs/view/file_view.hpp"
#include "tools/input.hpp"
#include "tools/output_file.hpp"

namespace bloscfs::tools {

/// At most `most` bytes of the contents of a frame from `offset` on. Throws Error,
/// std::system_error.
std::vector<std::uint8_t> contents_at(const Input& input, std::int64_t offset, std::int64_t most);

/// Bytes that is_text() looks at: contents with a NUL among these are no text.
inline constexpr std::int64_t kTextStart = 4096;
bool is_text(codec::Bytes start);

/// Bytes [begin, end) of a file.
struct FileRange {
  std::int64_t begin, end;
};

/// Writes a range of `view`, which is one of `input`'s; holes become holes. `done` is called with
/// how many bytes are written. Throws Interrupted.
void write_view(const fs::FileView& view, const FileRange& range, Input& input, OutputFile& out,
                const std::function<void(std::int64_t)>& done);

}  // namespace bloscfs::tools
