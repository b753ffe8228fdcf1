#pragma once
// Changes of SOURCE by other programs while it is mounted, and what a mount leaves beside them.

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

#include "tests/peer/frame_request.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// Another program's change of a frame in SOURCE.
struct ForeignChange {
  std::string name;
  /// Makes a flat frame of these contents of it.
  std::function<void(const fs_std::path& stored, const ByteVector& contents)> make;
  /// Whoever has the old file open can still read all of it.
  bool keeps_old = false;
};
/// By rename, as editors do, and in place, as cp does.
const std::vector<ForeignChange>& foreign_changes();
/// The file has its name only once it is whole.
void replace_by_rename(const fs_std::path& stored, const ByteVector& bytes);

/// C-Blosc2 does this to a frame (needs_peer).
void edit_frame(const fs_std::path& stored, const std::vector<FrameAction>& actions);
/// `b2frame set-meta` sets its vlmetalayer `note`.
void set_note(const fs_std::path& stored, const std::string& text);

/// Names in a directory of frames that hold what could not be committed: those that are
/// NAME.conflict-YYYYMMDDThhmmss, perhaps with a number, and ".b2frame".
std::vector<std::string> conflicts_of(const fs_std::path& directory, const std::string& name);
/// The one that there is. Throws where there is not exactly one.
fs_std::path conflict_of(const fs_std::path& directory, const std::string& name);
/// Contents of a container as b2frame reads it.
ByteVector stored_contents(const fs_std::path& stored);

Fd open_rw(const fs_std::path& path, int flags = 0);
/// Throws unless all is read, or written.
ByteVector read_at(const Fd& file, off_t offset, std::size_t size);
void write_at(const Fd& file, off_t offset, const ByteVector& bytes);
/// What `contents` are with others over them.
ByteVector patched(ByteVector contents, std::size_t offset, const ByteVector& bytes);
/// How often a text holds another.
int occurrences(const std::string& text, const std::string& part);

}  // namespace bloscfs::test
