#pragma once
// Removes objects from SOURCE, with what belongs to them.

#include <string>
#include <vector>

#include "fs/source/local/names/name_services.hpp"
#include "fs/source/local/tree/tree_changes.hpp"

namespace bloscfs::fs {

/// The removals of one change of names. Errors are std::system_error with the errno.
class Removal {
 public:
  Removal(TreeChanges& names, NameServices& services) : names_(names), services_(services) {}

  /// To be called before a name is removed. Returns the need to commit an open file that has
  /// further hard links. The mount may not know those, and then could not commit to the file later.
  Need commit_for_links(const NamedObject& object) const;
  /// Removes an object that is not a directory, and what a pending object replaces. Programs that
  /// have the object open keep it.
  void remove(const NamedObject& object);
  /// Removes only the name in the tree, after the object was removed from SOURCE or another object
  /// has taken the name. `remains` is the result of keep(), which must be called before that.
  void remove_name(const NamedObject& object, std::shared_ptr<const SourceObject> remains);
  /// Removes a directory in which the mount shows nothing, with its hidden entries.
  void remove_directory(const NamedObject& object);
  /// Removes the hidden entries of a directory in which the mount shows nothing:
  /// - leftovers of this mount or an earlier one (fs/source/local/names/leftovers.hpp),
  /// - other entries with such names that are not directories, and belong to the caller or to the
  ///   daemon's user,
  /// - what belongs to the store that the directory is part of, if the caller may remove it.
  ///
  /// Throws before it removes anything: EBUSY if the directory is itself mounted for writing;
  /// ENOTEMPTY if it contains anything else, or a frame that waits for `b2frame recover`.
  void clear(const NamedObject& directory);

  /// Removes the object from SOURCE, where it is called `stored_name` in `directory`. Its name in
  /// the tree stays.
  void remove_stored(const NamedObject& object, const SourceDirectory& directory,
                     const std::string& stored_name);
  /// Removes from SOURCE the file that a pending object replaces, if any.
  void remove_replaced(const NamedObject& pending, const SourceDirectory& directory);

  /// Returns a copy of the object (for a sparse frame, of its index file) that the node can use
  /// after the name is gone. Returns null if no node stands for the object.
  std::shared_ptr<const SourceObject> keep(const NamedObject& object) const;

  /// Nodes of containers that have lost their last name.
  const std::vector<NodeId>& ended() const { return ended_; }

 private:
  TreeChanges& names_;
  NameServices& services_;
  std::vector<NodeId> ended_;
};

}  // namespace bloscfs::fs
