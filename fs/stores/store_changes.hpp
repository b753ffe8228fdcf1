#pragma once
// What is done to stores that are directories before something in them changes: an embedded leaf
// becomes a file, and goes out of the map.

#include <optional>
#include <string>
#include <vector>

#include "frame/store/byte_source.hpp"
#include "fs/source/caller.hpp"
#include "fs/source/source_root.hpp"
#include "fs/stores/stores.hpp"
#include "fs/support/keyed_mutex.hpp"
#include "fs/tree/tree.hpp"

namespace bloscfs::fs {

/// A leaf that is embedded is changed as a file of its own. It becomes one in two steps, each
/// durable before the next begins:
///
///                                                        a sudden end after it leaves
/// 1. its frame is copied to a temporary beside it,       the file, which wins over what is
///    which gets the leaf's name                          embedded
/// 2. embed.b2e is written anew without its key           the file
///
/// A leaf that is removed goes by step 2 alone. Where step 2 fails, one that is only written to
/// stays hidden behind its file; what gives up that name fails then, for the embedded one would
/// show again.
///
/// The caller has to be permitted what is done: to make the file, and to write to embed.b2e where
/// contents change, to replace it where names do. What is made
/// belongs to whom embed.b2e belongs to, with its mode and access list: who may do what with a leaf
/// stays as it was. Directories that only the map has are made first, also for a removal, so
/// that a group does not vanish with its last leaf.
///
/// Thread-safe. Without effect outside of stores that are directories. Errors: std::system_error,
/// EACCES for who may not change the store's directory, EOPNOTSUPP for changes of a reference,
/// EXDEV where a group with embedded leaves is to be renamed (mv copies it then); codec::Error;
/// RequestEnded. May take long, but for NoTurn throws nothing to be tried again.
class StoreChanges {
 public:
  /// All outlive this object. `counters` may be null.
  StoreChanges(const SourceRoot& root, Tree& tree, Stores& stores, frame::SourceCounters* counters)
      : root_(root), tree_(tree), stores_(stores), counters_(counters) {}

  /// Before contents or attributes change. ESTALE once an embedded leaf has become a file: the
  /// kernel looks it up again.
  void before_changing(NodeId node, const Caller& caller);
  /// The directory of SOURCE to make something in: that of a group that only the map has is made.
  NodeId directory_to_make_in(NodeId directory, const Caller& caller);
  /// Before something is called `name`: what is embedded and would be hidden by that becomes a
  /// file.
  void before_making(NodeId directory, const std::string& name, const Caller& caller);
  /// Before a file goes. True if an embedded one did, and nothing is left to do.
  bool before_removing(NodeId directory, const std::string& name, const Caller& caller);
  /// ENOTEMPTY where something is embedded in it; else its embedded attributes go. True if it was
  /// nothing but these, and is gone.
  bool before_removing_directory(NodeId directory, const std::string& name, const Caller& caller);
  struct Rename {
    NodeId from;
    const std::string& from_name;
    NodeId to;
    const std::string& to_name;
    unsigned flags;
  };
  void before_renaming(const Rename& rename, const Caller& caller);

 private:
  struct Leaf {
    StorePlace place;
    std::string name;  ///< last part of its key
    std::string key() const { return place.key(name); }
  };
  /// What the caller has to be permitted. What is embedded behind a file has to go before its name
  /// does.
  enum class Change { of_contents, of_names };

  std::optional<StorePlace> place_of(NodeId directory);
  std::optional<Beside::Entry> find_beside(NodeId directory, const StorePlace& place,
                                           const std::string& name);
  /// True where a file has its key.
  bool is_hidden(const Leaf& leaf);
  /// False where nothing is embedded that is shown.
  bool make_external(const Leaf& leaf, Change change, const Caller& caller);
  void make_group(const StorePlace& place, const Caller& caller);
  void remove_embedded(const Leaf& leaf, const Caller& caller);
  /// Of what can be shown by that name.
  void remove_shadows(const StorePlace& place, const std::string& shown_name, Change change,
                      const Caller& caller);
  void keep_name(const StorePlace& place, const std::string& shown_name, const Caller& caller);
  static void require(Change change, const SourceDirectory& root, const Caller& caller);
  void take_out(const StorePlace& place, const MountedStore& store, std::vector<std::string> keys);
  void before_moving(NodeId directory, const std::string& name, const Caller& caller);
  bool is_empty_group(NodeId directory, const std::string& name, const Caller& caller);
  void remove_attributes(const StorePlace& group, const Caller& caller);
  static std::vector<std::string> attributes_in(const MountedStore& store, const StorePlace& group);
  void keep_attributes(const StorePlace& group, const Caller& caller);
  void require_movable(const StorePlace& place, const std::string& name);
  void note_change(const StorePlace& place);
  std::string in_text(const Leaf& leaf) const;

  const SourceRoot& root_;
  Tree& tree_;
  Stores& stores_;
  frame::SourceCounters* const counters_;
  KeyedMutex changing_;  ///< by the store's directory; held over both steps
};

}  // namespace bloscfs::fs
