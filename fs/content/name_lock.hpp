#pragma once
// Where the container of a content is stored, and giving it its name.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "frame/store/byte_store.hpp"
#include "fs/view/shown_as.hpp"

namespace bloscfs::fs {

/// Where a container is stored. Names are full names in SOURCE.
struct StoredPlace {
  std::shared_ptr<frame::StoreDirectory> directory;  ///< where its files are, or were
  std::string name;  ///< what it has now; a temporary's until its first commit
  bool is_temporary = false;
  bool is_sparse = false;
  bool has_links = false;    ///< has other names, which would keep what is replaced under this one
  bool is_unlinked = false;  ///< has no name any more: commits stay in the file
  /// Containers are sparse frames that other hosts write to as well; a new one has its own name
  /// from the start, where nobody finds it before its first commit.
  bool is_shared = false;
  std::optional<frame::FileId> meant;  ///< what has that name, unless somebody has changed that
  /// Opens the same to read and write it, whatever has its name by now; null for no file of this
  /// host.
  std::function<frame::SharedFd()> open_file;
  bool can_be_array = true;  ///< false: it is shown by a name that no array has
};

/// What a container is called as a flat frame (a new one: NAME + suffix), and as an array. Empty
/// where it cannot be one: no array unless shown as NAME.npy, and none where another file is in the
/// way.
struct RepresentationNames {
  std::string flat, array;
};

/// Keeps every name in the mount as it is while it lives, so that everybody waits for who has it.
/// Taken behind the content's commit_mutex_, and before the locks of the tree and of what was
/// written (fs/LOCKS.md). Errors are std::system_error: ESTALE when somebody else has put something
/// else in the file's place.
class NameLock {
 public:
  virtual ~NameLock() = default;
  virtual const StoredPlace& place() const = 0;
  /// Found out when first asked for.
  virtual const RepresentationNames& names() = 0;
  /// To be called before a shared container is stored under that name for the first time.
  virtual void before_giving_name(const std::string& /*full_name*/, ShownAs /*shown*/) {}
  /// Gives the complete container `stored_as` of place().directory, which is the file `made`, the
  /// name `full_name` (one of place().name and names()), by which it is shown as `shown`, where
  /// it replaces what the content was until now, and tells the tree that this is the content's
  /// file now. ESTALE where it is another file. A sudden end leaves one of the two in sight.
  /// Returns the name that it has then: another one where ContentHome::take_own_name() is to
  /// follow. ESTALE, and nothing is replaced, where another program has changed what the content
  /// was; `is_unchanged` tells, and is asked when nobody can do that any more by its name.
  virtual std::string give_name(const std::string& stored_as, const frame::FileId& made,
                                const std::string& full_name, ShownAs shown,
                                const std::function<bool()>& is_unchanged) = 0;
  /// Tells the tree that the file now under place().name is the content's (after a commit in
  /// place, or by a rename that the frame layer made), so that it is not taken for a change.
  /// False, and nothing is told, if that is not the file of the stamp `own`.
  virtual bool refresh(const frame::FileStamp& own) = 0;
};

}  // namespace bloscfs::fs
