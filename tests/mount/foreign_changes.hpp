#pragma once
// Changes of SOURCE by other programs while it is mounted, and the conflict files that a mount
// leaves.

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

#include "tests/peer/frame_request.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// A change of a frame in SOURCE by another program.
struct ForeignChange {
  std::string name;
  /// Replaces the frame by a flat frame of these contents.
  std::function<void(const fs_std::path& stored, const ByteVector& contents)> make;
  /// A program that has the old file open can still read all of it.
  bool keeps_old = false;
};
/// Returns two changes: by rename, as editors do, and in place, as cp does.
const std::vector<ForeignChange>& foreign_changes();
/// Writes a new file, and renames it over `stored` once it is complete.
void replace_by_rename(const fs_std::path& stored, const ByteVector& bytes);

/// Has C-Blosc2 edit a frame. The test needs needs_peer().
void edit_frame(const fs_std::path& stored, const std::vector<FrameAction>& actions);
/// Sets the vlmetalayer `note` with `b2frame set-meta`.
void set_note(const fs_std::path& stored, const std::string& text);

/// Returns the conflict files of `name` in a directory, which hold what could not be committed.
/// They are called NAME.conflict-YYYYMMDDThhmmss.b2frame, where a number may follow the time.
std::vector<std::string> conflicts_of(const fs_std::path& directory, const std::string& name);
/// Returns the only conflict file of `name`. Throws if there is not exactly one.
fs_std::path conflict_of(const fs_std::path& directory, const std::string& name);
/// Returns the contents of a container as b2frame reads them.
ByteVector stored_contents(const fs_std::path& stored);

Fd open_rw(const fs_std::path& path, int flags = 0);
/// Throws if not all bytes are read or written.
ByteVector read_at(const Fd& file, off_t offset, std::size_t size);
void write_at(const Fd& file, off_t offset, const ByteVector& bytes);
/// Returns `contents` with `bytes` written over them at `offset`.
ByteVector patched(ByteVector contents, std::size_t offset, const ByteVector& bytes);
/// Counts how often `part` occurs in a text.
int occurrences(const std::string& text, const std::string& part);

}  // namespace bloscfs::test
