#pragma once
// Writes the contents of views to files.

#include <cstdint>
#include <functional>
#include <vector>

#include "fs/view/file_view.hpp"
#include "tools/input.hpp"
#include "tools/output_file.hpp"

namespace bloscfs::tools {

/// Returns at most `most` bytes of the contents of a frame, from `offset` on. Throws Error and
/// std::system_error.
std::vector<std::uint8_t> contents_at(const Input& input, std::int64_t offset, std::int64_t most);

/// Number of bytes that is_text() needs. Contents with a NUL among them are not text.
inline constexpr std::int64_t kTextStart = 4096;
bool is_text(codec::Bytes start);

/// Bytes [begin, end) of a file.
struct FileRange {
  std::int64_t begin, end;
};

/// Writes a range of `view`, which must be a view of `input`. Holes become holes. Calls `done` with
/// the number of bytes before the piece that was just written. Throws Interrupted.
void write_view(const fs::FileView& view, const FileRange& range, Input& input, OutputFile& out,
                const std::function<void(std::int64_t)>& done);

}  // namespace bloscfs::tools
