#pragma once
// How a stored object gets a full name, and takes the place of what is shown by that name: the one
// way of renames and of commits, so that a sudden end at any moment leaves the one or the other in
// sight, never both and never none.

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

/// Gives a stored object the full name that what replaces it will have, if it is shown as before
/// there, and durably so. Before anything else has been changed: each call goes on where the one
/// before ended. `object` follows. Does nothing about one that waits: where anything waits in front
/// of another, the two can meet.
Need take_name_of_replacement(TreeChanges& names, NameServices& services, NamedObject& object,
                              const SourceDirectory& directory, const std::string& shown_name,
                              const std::string& full_name);

/// Gives what a replacement has placed under another name its own, durably behind what it was
/// placed by; an operation by itself. Does nothing where that name is taken by now, or would show
/// it differently. `is_ours` becomes false where what has its name is not the file `placed`, and
/// keeps it.
Need take_own_name(TreeChanges& names, NameServices& services, const NamedObject& object,
                   const Identity& placed, const std::string& shown_name,
                   const std::string& full_name, bool& is_ours);

/// ESTALE: what another program has put there stays.
[[noreturn]] void throw_overtaken(const std::string& name);

/// What is placed, and where; all outlive it.
struct PlacedName {
  const NamedObject* placed;  ///< as it is stored until now; null: nobody sees it
  const SourceDirectory& directory;
  const std::string& shown_name;  ///< that it gets
  const std::string& full_name;   ///< F
  ShownAs shown;
};

/// Steps 1 and 2 of a Replacement. `taken` becomes the name for step 3. `old`: what has the shown
/// name, or null; follows.
Need prepare_name(TreeChanges& names, NameServices& services, NamedObject* old,
                  const PlacedName& name, std::string& taken);

/// What a commit goes by: it replaces the state that it was made from, and nothing else. Another
/// program may put something else there up to the moment in which that is replaced, and that stays.
struct CommitPrecondition {
  std::shared_ptr<frame::StoreDirectory> directory;  ///< that it is in
  /// Asked of the old state when nobody can change that any more by its name.
  const std::function<bool()>& is_unchanged;
};

/// One replacement, with the lock on names, but for the flushes, which are its Needs. The old
/// one has the full name P, where it is stored, or where something is that it waits to replace; the
/// new one shall have F.
///
///                                                                a sudden end after it leaves
/// 1. names that were given up, and are shown alike, are made     the old one
///    durable
/// 2. P -> F, where the new one cannot stand as P, and the old    the old one, as F
///    one is shown as before as F, between two flushes of the
///    directory
/// 3. the new one gets P, where it can stand there, else F. What  the old one or the new one
///    has that is replaced in the same step
/// 4. what is left of the old one is removed                      the new one; both, by their full
///                                                                names, where they could not meet
/// 5. a flush of the directory, P -> F, by take_own_name(), when  the new one, as P or F
///    all else is done
///
/// What is shown as a.npy: an array a.b2nd (P) becomes flat, a.npy.b2frame (F). Flat it cannot be
/// called a.b2nd, which would be shown as a, but the array can be called a.npy.b2frame: steps 2
/// and 3. The other way round the array gets the name a.npy.b2frame (P) over the flat one: steps 3
/// and 5.
///
/// A user's rename replaces what has the name, as rename(2) does; a commit has precondition.
class Replacement {
 public:
  /// All outlive the replacement.
  struct Objects {
    const NamedObject& placed;    ///< as it is stored until now
    const SourceDirectory& from;  ///< where that is
    const SourceDirectory& to;
    const std::string& shown_name;  ///< that it gets
    NamedObject* old = nullptr;     ///< what has that, or null; follows in step 2
    const CommitPrecondition* precondition = nullptr;  ///< null: a user's rename
  };

  Replacement(TreeChanges& names, NameServices& services, const Objects& objects)
      : names_(names), services_(services), removal_(names, services), objects_(objects) {}

  /// Steps 1 to 3. Errors are std::system_error, of a commit ESTALE where another program was there
  /// first.
  Need place(const std::string& full_name);
  /// The name that the new one has then: F, or P, where step 5 is left to do.
  const std::string& placed_as() const { return placed_as_; }
  /// State of that by this name: of a commit.
  const struct stat& placed_state() const { return placed_state_; }
  /// Step 4, before the tree forgets the old one. What another program has put there stays where a
  /// commit asks.
  void remove_old();

 private:
  std::optional<NamedObject> occupant(const std::string& full_name);
  void put(const std::string& full_name);
  void put_over(const NamedObject& occupant, const std::string& full_name);
  void put_over_expected(const NamedObject& occupant, const std::string& full_name);
  void carry_own_sidecar(const std::optional<NamedObject>& replaced);
  void keep_sidecar();
  void leave(const NamedObject& object, const std::function<bool()>& is_own);

  TreeChanges& names_;
  NameServices& services_;
  Removal removal_;
  const Objects objects_;
  std::string placed_as_;  ///< empty before step 3
  struct stat placed_state_ {};
  bool has_replaced_ = false;  ///< step 3 has put it over what the old one has in SOURCE
};

}  // namespace bloscfs::fs
