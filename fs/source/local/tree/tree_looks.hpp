#pragma once
// Looking at what nodes are by their names.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fs/source/local/tree/tree.hpp"

namespace bloscfs::fs {

/// What has a name in the mount.
struct NamedObject {
  NodeId directory = 0;
  SourcePath directory_path;
  std::string full_name;    ///< as naming knows it
  std::string stored_name;  ///< what it is called in SOURCE: another than full_name while pending
  SourceEntry entry;
  NodeId node = 0;          ///< 0 if it has none
  bool is_pending = false;  ///< shown under a name that it does not have in SOURCE yet
  /// Pending: what has that name in SOURCE until the commit.
  std::optional<frame::FileStamp> replaces;

  SourcePath path() const {
    return {join_path(directory_path, stored_name), identity_of(entry.own_stat)};
  }
  /// Shown as one; a store is stored as a file.
  bool is_directory() const { return S_ISDIR(entry.shown_type()); }
};

/// True for a file with names beside this one: they would part if another file took its place.
bool has_links(const NamedObject& object);
/// Throws EOPNOTSUPP if it has.
void require_no_links(const NamedObject& object);

/// For whoever has names locked, alone or shared. Errors as the tree's.
class TreeLooks {
 public:
  SourcePath path(NodeId directory) const { return tree_.path(directory); }
  /// Whether a file counts as the node's after another program has changed it.
  enum class State { same, any };
  /// What a node is by one of its names; nullopt when it has none, or something else has it.
  std::optional<NamedObject> object(NodeId node, State state = State::same);
  /// True for a directory of a store that is one itself.
  bool is_in_store(NodeId directory) const { return tree_.store_place(directory).has_value(); }
  /// How the names will differ from those of now after the change.
  struct AfterChange {
    std::vector<const NamedObject*> gone;  ///< null ones aside
    struct Arrival {
      NodeId directory;
      std::string full_name;
      ShownAs shown;
    };
    std::vector<Arrival> arrived = {};
  };
  /// True if a new entry could have that full name, and would be shown as asked without a change
  /// for any other.
  bool fits(NodeId directory, const std::string& shown_name, const std::string& full_name,
            ShownAs shown, const AfterChange& after_change);

 protected:
  explicit TreeLooks(Tree& tree) : tree_(tree) {}
  ~TreeLooks() = default;

  NamedObject describe(const Tree::Directory& in, const std::string& full_name,
                       const SourceEntry& entry, State state);

  Tree& tree_;

 private:
  bool hides(const Tree::Directory& in, const std::string& full_name, ShownAs shown);
};

/// Nobody changes names while one of these lives, and others look as well.
class BLOSCFS_THREAD_ATTRIBUTE(scoped_lockable) ReadTree final : public TreeLooks {
 public:
  explicit ReadTree(Tree& tree) BLOSCFS_THREAD_ATTRIBUTE(acquire_shared_capability(tree.names_))
      : TreeLooks(tree), names_(tree.names_) {}
  ~ReadTree() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) = default;
  ReadTree(const ReadTree&) = delete;
  ReadTree& operator=(const ReadTree&) = delete;

 private:
  const ReadNames names_;
};

}  // namespace bloscfs::fs
