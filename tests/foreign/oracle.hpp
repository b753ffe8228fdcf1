#pragma once
// What a mount has to show of one file while it is written to from both sides.

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

/// The mount did what no state of the file explains.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Contents that another program's change has left no place for.
struct Conflict {
  ByteVector contents;   ///< as the mount showed them
  ByteVector committed;  ///< what SOURCE had of them
  /// The old file can be read still: then all of them are kept. Else zeros may stand for what
  /// SOURCE had.
  bool is_whole = false;
  /// False if SOURCE had them all by then: the mount may or may not know that.
  bool is_certain = false;

  /// Empty if `kept` is what this asks for.
  std::string difference(const ByteVector& kept) const;
};

/// A descriptor that is open for writing.
struct Writer {
  Fd fd;
  bool must_tell = false;      ///< ESTALE is due
  bool may_tell = false;       ///< it may have been told already, together with an older loss
  bool was_told_late = false;  ///< of such an older one, when SOURCE had changed again
  bool is_orphan = false;      ///< its file has lost its name
};

struct FileOracle {
  std::string shown;  ///< name in the mount
  /// Names that it may have in SOURCE.
  std::vector<std::string> stored;
  Kind kind = Kind::flat;
  std::optional<FrameState> now;       ///< what the mount shows once it knows; none: no such file
  bool is_dirty = false;               ///< contents were written since the last durable commit
  std::set<std::string> dirty_layers;  ///< the same for vlmetalayers
  std::set<std::string> doubtful_layers;  ///< may be SOURCE's, or still the mount's
  /// It was never committed, and has been renamed over what SOURCE has under its name.
  bool waits_to_replace = false;
  /// Another program has changed the file, and the mount may not have looked since.
  bool is_overtaken = false;
  std::optional<Conflict> conflict;  ///< of that change
  bool keeps_old_file = false;       ///< that change was a replacement by rename, or a removal
  bool may_lose_layers = false;      ///< by that change
  std::optional<ByteVector> former;  ///< contents that the mount showed before that change
  std::vector<std::unique_ptr<Writer>> writers;

  /// Where it is in SOURCE, or would be.
  fs_std::path path_in(const fs_std::path& source) const;
  /// Another program changes the file by `change(path)`, while the mount stands still.
  template <typename Change>
  void overtake(const fs_std::path& source, bool keeps_file, const Change& change);
  /// The mount has looked; `kept` is the conflict that it made, if it made one.
  void noticed(const std::optional<ByteVector>& kept);
  /// Bytes that went to the state before the change.
  void written_to_former(std::size_t offset, const ByteVector& bytes);
  void written(std::size_t offset, const ByteVector& bytes);
  void resized(std::size_t size);
  void committed();

 private:
  void before_change(const std::optional<FrameState>& stored_state, bool keeps_file);
  void after_change(const std::optional<FrameState>& before, const std::optional<FrameState>& after,
                    bool is_replaced);
};

/// Of what has that path; 0 where there is nothing.
ino_t inode_of(const fs_std::path& path);

template <typename Change>
void FileOracle::overtake(const fs_std::path& source, bool keeps_file, const Change& change) {
  const fs_std::path path = path_in(source);
  const auto before = read_frame(path);
  const ino_t inode = waits_to_replace ? 0 : inode_of(path);
  before_change(before, keeps_file);
  change(path);
  // An edit may make a new file, too.
  after_change(before, read_frame(path), inode_of(path) != inode);
}

}  // namespace bloscfs::test
