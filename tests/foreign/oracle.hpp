#pragma once
// What a mount must show of one file that is changed through the mount and in SOURCE.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/foreign/source_frame.hpp"
#include "tests/support/fd.hpp"

namespace bloscfs::test {

/// Thrown when the mount's behaviour fits no possible state of the file.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Contents that another program's change has replaced, and that a conflict file must save.
struct Conflict {
  ByteVector contents;   ///< as the mount showed them
  ByteVector committed;  ///< the part that SOURCE had
  /// True if the old file can still be read, so that all contents are saved. Otherwise the conflict
  /// file may have zeros, or the other program's bytes, in place of bytes that were in SOURCE.
  bool is_whole = false;
  /// False if SOURCE already had all of them, which the mount may or may not know.
  bool is_certain = false;

  /// Returns an empty string if `kept` is a valid conflict file. Otherwise describes the
  /// difference. `theirs` are the contents that the other program has left.
  std::string difference(const ByteVector& kept, const ByteVector& theirs) const;
};

/// A descriptor that is open for writing.
struct Writer {
  Fd fd;
  bool must_report_stale = false;  ///< ESTALE is due
  bool may_report_stale = false;   ///< ESTALE is due, or was returned together with an older loss
  bool was_reported_late = false;  ///< ESTALE was for an older loss, after SOURCE had changed again
  bool is_orphan = false;          ///< the file has lost its name
};

struct FileOracle {
  std::string shown;  ///< name in the mount
  /// Names that the file may have in SOURCE.
  std::vector<std::string> stored;
  Kind kind = Kind::flat;
  std::optional<FrameState> now;          ///< what the mount must show; empty if no file
  bool is_dirty = false;                  ///< contents were written since the last durable commit
  std::set<std::string> dirty_layers;     ///< vlmetalayers written since then
  std::set<std::string> doubtful_layers;  ///< may have SOURCE's value or the mount's
  /// The file was never committed, and was renamed over a file that SOURCE has under its name.
  bool waits_to_replace = false;
  /// Another program has changed the file, and the mount may not have noticed yet.
  bool is_overtaken = false;
  std::optional<Conflict> conflict;  ///< caused by that change
  bool keeps_old_file = false;       ///< that change was a rename over the file, or a removal
  bool may_lose_layers = false;      ///< that change may discard layers
  std::optional<ByteVector> former;  ///< contents that the mount showed before that change
  std::vector<std::unique_ptr<Writer>> writers;

  /// Returns the path in SOURCE, which need not exist.
  fs_std::path path_in(const fs_std::path& source) const;
  /// Records that another program changes the file by `change(path)`, while the mount is stopped.
  template <typename Change>
  void overtake(const fs_std::path& source, bool keeps_file, const Change& change);
  /// Records that the mount has noticed. `kept` is the conflict file that it made, if any.
  void noticed(const std::optional<ByteVector>& kept);
  /// Records bytes that were written to the state before the change.
  void written_to_former(std::size_t offset, const ByteVector& bytes);
  void written(std::size_t offset, const ByteVector& bytes);
  void resized(std::size_t size);
  void committed();

 private:
  void before_change(const std::optional<FrameState>& stored_state, bool keeps_file);
  void after_change(const std::optional<FrameState>& before, const std::optional<FrameState>& after,
                    bool is_replaced);
};

/// Returns the inode number of a file, or 0 if it does not exist.
ino_t inode_of(const fs_std::path& path);

template <typename Change>
void FileOracle::overtake(const fs_std::path& source, bool keeps_file, const Change& change) {
  const fs_std::path path = path_in(source);
  const auto before = read_frame(path);
  const ino_t inode = waits_to_replace ? 0 : inode_of(path);
  before_change(before, keeps_file);
  change(path);
  // An edit may also make a new file.
  after_change(before, read_frame(path), inode_of(path) != inode);
}

}  // namespace bloscfs::test
