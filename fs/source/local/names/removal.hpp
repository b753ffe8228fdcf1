#pragma once
// Takes objects out of SOURCE with what belongs to them.

#include <string>
#include <vector>

#include "fs/source/local/names/name_services.hpp"
#include "fs/source/local/tree/tree_changes.hpp"

namespace bloscfs::fs {

/// One change of names, or a part of it. Errors are std::system_error with the errno.
class Removal {
 public:
  Removal(TreeChanges& names, NameServices& services) : names_(names), services_(services) {}

  /// Before a name goes: that what was written to a file that has other names is stored, since the
  /// mount need not know any of these.
  Need store_for_links(const NamedObject& object) const;
  /// Removes an object that is no directory. Whoever has it open keeps it. What a pending file
  /// stands in front of goes with it.
  void remove(const NamedObject& object);
  /// The same for the name alone, which something else has taken; keep() was called before that.
  void remove_name(const NamedObject& object, std::shared_ptr<const SourceObject> remains);
  /// Removes a directory in which the mount shows nothing, with what is hidden there.
  void remove_directory(const NamedObject& object);
  /// Clears what is hidden out of such a directory: what this mount or an earlier one has left
  /// (fs/source/local/names/leftovers.hpp), and what else is no directory and belongs to the
  /// caller, or to the daemon's user. Throws, before anything is gone, EBUSY if it is mounted for
  /// writing itself, ENOTEMPTY if there is anything else, or something that waits for `b2frame
  /// recover`.
  void clear(const NamedObject& directory);

  /// Removes what an object is in SOURCE, where it has `stored_name` of `directory`, but not its
  /// name.
  void remove_stored(const NamedObject& object, const SourceDirectory& directory,
                     const std::string& stored_name);
  /// Removes what a pending object stands in front of, if there is something.
  void remove_behind(const NamedObject& pending, const SourceDirectory& directory);

  /// The object, if somebody may still need it when its name is gone.
  std::shared_ptr<const SourceObject> keep(const NamedObject& object) const;

  /// Nodes of containers that have lost their last name.
  const std::vector<NodeId>& ended() const { return ended_; }

 private:
  TreeChanges& names_;
  NameServices& services_;
  std::vector<NodeId> ended_;
};

}  // namespace bloscfs::fs
