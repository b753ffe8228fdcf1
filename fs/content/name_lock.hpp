#pragma once
// The place where a content's container is stored, and the lock under which it gets its name.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "frame/store/byte_store.hpp"
#include "fs/view/shown_as.hpp"

namespace bloscfs::fs {

/// The place where a container is stored. Names are full names in SOURCE.
struct StoredPlace {
  std::shared_ptr<frame::StoreDirectory> directory;  ///< of its present, or last, name
  std::string name;  ///< the present name; a temporary's until the first commit
  bool is_temporary = false;
  bool is_sparse = false;
  bool has_links = false;    ///< has other hard links, which would keep the old file if it is
                             ///< replaced here
  bool is_unlinked = false;  ///< has no name any more: commits go into the open file
  /// The container is a sparse frame that other hosts write to as well. A new one has its final
  /// name from the start; readers find it only after its first commit.
  bool is_shared = false;
  std::optional<frame::FileId> meant;  ///< the file that has this name, unless another program has
                                       ///< replaced it
  /// Opens that file for reading and writing, even if another file has the name now. Null if it is
  /// not a file of this host.
  std::function<frame::SharedFd()> open_file;
  bool can_be_array = true;  ///< false: the file is shown by a name that no array can have
};

/// The names of a container as a flat frame (a new one: NAME + suffix) and as an array. A name is
/// empty if the container cannot have that form: only a file shown as NAME.npy can be an array, and
/// another file may be in the way.
struct RepresentationNames {
  std::string flat, array;
};

/// Keeps all names in the mount unchanged while it lives; other changes of names wait for it. Taken
/// after the content's commit_mutex_, and before the locks of the tree and of the written data
/// (fs/LOCKS.md). Errors are std::system_error: ESTALE if another program has put another file in
/// the place.
class NameLock {
 public:
  virtual ~NameLock() = default;
  virtual const StoredPlace& place() const = 0;
  /// Chosen at the first call.
  virtual const RepresentationNames& names() = 0;
  /// To be called before a shared container is stored under that name for the first time.
  virtual void before_giving_name(const std::string& /*full_name*/, ShownAs /*shown*/) {}
  /// Gives a complete container the name `full_name`, in the place of the content's previous file.
  /// Tells the tree that it is the content's file now, shown as `shown`. The string
  /// `stored_name` is the name that the container has in place().directory until now. `made`
  /// identifies its file. `full_name` is place().name or one of names(). After a crash, the old or
  /// the new file is visible.
  ///
  /// Returns the name that the container got. If that is not `full_name`,
  /// ContentHome::take_final_name() is to follow.
  ///
  /// Throws ESTALE if the file `stored_name` is not `made`. Throws ESTALE and replaces
  /// nothing if another program has changed the previous file. `is_unchanged` decides that; it is
  /// called when no program can change that file by its name any more.
  virtual std::string give_name(const std::string& stored_name, const frame::FileId& made,
                                const std::string& full_name, ShownAs shown,
                                const std::function<bool()>& is_unchanged) = 0;
  /// Tells the tree that the file now under place().name is the content's, so that the tree does
  /// not take it for another program's. To be called after a commit in place, or after a rename by
  /// the frame layer. Returns false and does nothing if that file does not have the stamp `own`.
  virtual bool refresh(const frame::FileStamp& own) = 0;
};

}  // namespace bloscfs::fs
