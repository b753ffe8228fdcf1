#pragma once
// Gives a stored object a full name, so that it replaces what is shown under that name. Renames and
// commits both work this way. After a crash at any moment, the old or the new object is shown, but
// not both or neither. The only exception is in step 4 of a Replacement.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "frame/store/byte_store.hpp"
#include "fs/source/local/files/source_directory.hpp"
#include "fs/source/local/names/name_services.hpp"
#include "fs/source/local/names/removal.hpp"
#include "fs/source/local/tree/tree_changes.hpp"

namespace bloscfs::fs {

/// Renames a stored object to the full name that its replacement will have, and makes that durable.
/// Does so only if the object is shown the same under that name. To be called before anything else
/// is changed: each call continues where the last one ended. Updates `object`. Does nothing for a
/// pending object, since its replacement can take its full name directly.
Need rename_to_replacement_name(TreeChanges& names, NameServices& services, NamedObject& object,
                                const SourceDirectory& directory, const std::string& shown_name,
                                const std::string& full_name);

/// Gives a replacement that was placed under an interim name its own name, in an operation by
/// itself. First makes durable how it was placed. Does nothing if that name is taken, or would show
/// it differently. Sets `is_ours` to false, and changes nothing, if the file under the object's
/// name is not `placed`.
Need take_final_name(TreeChanges& names, NameServices& services, const NamedObject& object,
                     const Identity& placed, const std::string& shown_name,
                     const std::string& full_name, bool& is_ours);

/// Throws ESTALE, since another program has put an object under `name`. That object stays.
[[noreturn]] void throw_overtaken(const std::string& name);

/// The object to place, and the name for it. All referenced objects must outlive this one.
struct PlacedName {
  const NamedObject* placed;  ///< before it is placed; null: it has no shown name yet
  const SourceDirectory& directory;
  const std::string& shown_name;  ///< the name that it gets
  const std::string& full_name;   ///< F in the table below
  ShownAs shown;
};

/// Does steps 1 and 2 of a Replacement. Sets `taken` to the name for step 3. `old` is the object
/// that has the shown name, or null; it is updated.
Need prepare_name(TreeChanges& names, NameServices& services, NamedObject* old,
                  const PlacedName& name, std::string& taken);

/// The state in SOURCE that a commit may replace: only the one that the commit was made from. Up to
/// the moment of the replacement, another program may put another object under the name. That
/// object stays.
struct CommitPrecondition {
  std::shared_ptr<frame::StoreDirectory> directory;  ///< contains the file
  /// Returns true if the old file is unchanged. Called after the file has left its name, so that no
  /// program can change it by that name.
  const std::function<bool()>& is_unchanged;
};

/// Replaces one object. The caller holds the lock on names. Flushes are done as Needs, without that
/// lock. P is the full name of the old object: its stored name, or the name of the file that a
/// pending object replaces. F is the full name for the new object.
///
///                                                              shown after a crash in this step
/// 1. Make it durable that unsynced names that are shown the    the old object
///    same are gone.
/// 2. Rename the old object from P to F, between two flushes    the old object, as P or F
///    of the directory. Only if the new object cannot have
///    the name P, and the old one is shown the same as F.
/// 3. Give the new object the name P if it can have it, else    the old or the new object
///    F. This also replaces an old object of that name.
/// 4. Remove what is left of the old object.                    the new object; both, by their
///                                                              full names, if step 3 could not
///                                                              replace the old one
/// 5. Flush the directory, and rename the new object from P     the new object, as P or F
///    to F. take_final_name() does this when all else is done.
///
/// Example: a.npy is shown for an array a.b2nd (P). It becomes flat, with the name a.npy.b2frame
/// (F). A flat file cannot be called a.b2nd, which would be shown as "a". But the array can be
/// called a.npy.b2frame: steps 2 and 3. In the other direction, the array replaces the flat file
/// under its name a.npy.b2frame (P), and then becomes a.b2nd (F): steps 3 and 5.
///
/// A user's rename replaces any object that has the name, as rename(2) does. A commit has a
/// precondition.
class Replacement {
 public:
  /// All must outlive the replacement.
  struct Objects {
    const NamedObject& placed;    ///< before it is placed
    const SourceDirectory& from;  ///< contains `placed`
    const SourceDirectory& to;
    const std::string& shown_name;  ///< the name that it gets
    NamedObject* old = nullptr;     ///< has that name, or is null; updated in step 2
    const CommitPrecondition* precondition = nullptr;  ///< null: a user's rename
  };

  Replacement(TreeChanges& names, NameServices& services, const Objects& objects)
      : names_(names), services_(services), removal_(names, services), objects_(objects) {}

  /// Does steps 1 to 3. Errors are std::system_error. A commit fails with ESTALE if another program
  /// has changed the file first.
  Need place(const std::string& full_name);
  /// The name that the new object has: F, or P if step 5 remains to be done.
  const std::string& placed_as() const { return placed_as_; }
  /// The state of the new object under that name, after a commit.
  const struct stat& placed_state() const { return placed_state_; }
  /// Does step 4. To be called before the tree forgets the old object. In a commit, an object that
  /// another program has put under the old name stays.
  void remove_old();

 private:
  std::optional<NamedObject> occupant(const std::string& full_name);
  void put(const std::string& full_name);
  void replace_occupant(const NamedObject& occupant, const std::string& full_name);
  void replace_expected_occupant(const NamedObject& occupant, const std::string& full_name);
  void carry_own_sidecar(const std::optional<NamedObject>& replaced);
  void keep_sidecar();
  void leave(const NamedObject& object, const std::function<bool()>& is_own);

  TreeChanges& names_;
  NameServices& services_;
  Removal removal_;
  const Objects objects_;
  std::string placed_as_;  ///< empty before step 3
  struct stat placed_state_ {};
  bool has_replaced_ = false;  ///< step 3 has replaced an object in SOURCE
};

}  // namespace bloscfs::fs
