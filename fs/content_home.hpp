#pragma once
// What a file's content asks of the tree when it is committed: where it is stored, under which
// name it shall be, and to tell the tree what has become of it.

#include <memory>
#include <string>

#include <sys/stat.h>

#include "frame/byte_store.hpp"

namespace bloscfs::fs {

/// Where a container is stored. Names are full names in SOURCE.
struct StoredPlace {
  std::shared_ptr<frame::StoreDirectory> directory;  ///< null once it is unlinked
  std::string name;        ///< what it has now; a temporary's until its first commit
  std::string shown_name;  ///< what the mount shows it by
  /// What it is called as a flat frame (a new one: NAME + suffix), and as an array. Empty where it
  /// cannot be one: no array unless shown as NAME.npy, nothing where another file is in the way.
  std::string flat_name;
  std::string array_name;
  bool is_temporary = false;
  bool is_unlinked = false;  ///< has no name any more: commits stay in the file
};

/// Thread-safe. Keeps its file's node, and exists at least as long as the content.
class ContentHome {
 public:
  virtual ~ContentHome() = default;

  /// Keeps every name in the mount as it is while it lives; taken last of all locks. Errors are
  /// std::system_error with the errno.
  class NameLock {
   public:
    virtual ~NameLock() = default;
    virtual const StoredPlace& place() const = 0;
    /// Makes what is stored as `stored_name` (place().name, or a temporary beside it) the file, and
    /// gives it the name `full_name`: one of place().name, flat_name and array_name. It replaces
    /// what has that name in one step, and tells the tree.
    ///
    /// When the file has had another name in SOURCE until now, what is stored there is removed in
    /// a second step. A crash between them leaves both files, each with all its bytes, and both
    /// then have their full names in a mount.
    virtual void settle(const std::string& stored_name, const std::string& full_name) = 0;
    /// Tells the tree that the file now under place().name is the content's (after a commit in
    /// place, or by a rename that the frame layer made), so that it is not taken for a change.
    virtual void refresh() = 0;
  };
  virtual std::unique_ptr<NameLock> lock_name() = 0;
};

}  // namespace bloscfs::fs
