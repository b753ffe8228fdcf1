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
  std::shared_ptr<frame::StoreDirectory> directory;  ///< where its files are, or were
  std::string name;  ///< what it has now; a temporary's until its first commit
  bool is_temporary = false;
  bool is_sparse = false;
  bool has_links = false;    ///< has other names, which would keep what is replaced under this one
  bool is_unlinked = false;  ///< has no name any more: commits stay in the file
};

/// What a container is called as a flat frame (a new one: NAME + suffix), and as an array. Empty
/// where it cannot be one: no array unless shown as NAME.npy, and none where another file is in the
/// way.
struct RepresentationNames {
  std::string flat, array;
};

/// Thread-safe. Lives at least as long as the content, and keeps its node.
class ContentHome {
 public:
  virtual ~ContentHome() = default;

  /// Keeps every name in the mount as it is while it lives; taken last of all locks. Errors are
  /// std::system_error: ESTALE when somebody else has put something else in the file's place.
  class NameLock {
   public:
    virtual ~NameLock() = default;
    virtual const StoredPlace& place() const = 0;
    /// Found out when first asked for.
    virtual const RepresentationNames& names() = 0;
    /// Gives the complete container `stored_as` of place().directory the name `full_name` (one of
    /// place().name and names()), where it replaces what the content was until now, and tells the
    /// tree that this is the content's file now. A sudden end leaves one of the two in sight.
    /// Returns the name that it has then: another one where the last step failed.
    virtual std::string settle(const std::string& stored_as, const std::string& full_name) = 0;
    /// Tells the tree that the file now under place().name is the content's (after a commit in
    /// place, or by a rename that the frame layer made), so that it is not taken for a change.
    virtual void refresh() = 0;
  };
  virtual std::unique_ptr<NameLock> lock_name() = 0;
};

}  // namespace bloscfs::fs
