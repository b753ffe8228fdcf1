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
  std::shared_ptr<frame::StoreDirectory> directory;
  std::string name;         ///< what it has now; a temporary's until its first commit
  std::string flat_name;    ///< what it is called as a flat frame (NAME + suffix)
  std::string array_name;   ///< what it is called as an array; empty unless shown as NAME.npy
  bool is_temporary = false;
  bool is_unlinked = false;  ///< has no name any more: commits stay in the file
};

/// Thread-safe. Lives at least as long as the content.
class ContentHome {
 public:
  virtual ~ContentHome() = default;

  /// Keeps every name in the mount as it is while it lives; taken last of all locks.
  class NameLock {
   public:
    virtual ~NameLock() = default;
    virtual const StoredPlace& place() const = 0;
    /// Gives the container that is stored as `place().name` the name `full_name` in one step
    /// (rename(2), replacing what has it), and tells the tree. `store` is what stands there then:
    /// its inode may be another one than before.
    virtual void settle(const std::string& full_name) = 0;
    /// Tells the tree that the file now under place().name is the content's (after a commit in
    /// place, or by a rename that the frame layer made), so that it is not taken for a change.
    virtual void refresh() = 0;
  };
  virtual std::unique_ptr<NameLock> lock_name() = 0;
};

}  // namespace bloscfs::fs
