#pragma once
// The nodes of a tree of objects: which the kernel knows, what they are, and
// what is read of them.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "frame/store/clock.hpp"
#include "frame/store/lru_map.hpp"
#include "fs/content/content.hpp"
#include "fs/content/open_file.hpp"
#include "fs/options/owner_override.hpp"
#include "fs/source/archives/archive.hpp"
#include "fs/source/archives/archive_part.hpp"
#include "fs/source/node.hpp"
#include "fs/source/objects/object_listings.hpp"
#include "fs/source/objects/object_looks.hpp"
#include "fs/source/objects/object_nodes.hpp"
#include "fs/source/recently_used.hpp"
#include "fs/source/source.hpp"
#include "fs/source/stored_form.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. Errors: as ObjectTree's, ESTALE for nodes that are not known
/// (any more), and for objects that have another state; codec::Error. NoTurn
/// where something must be asked for.
class Objects {
 public:
  /// `budget` and `clock` outlive this object. `remove_later` and `uploads` as of
  /// ObjectFrames.
  Objects(std::shared_ptr<frame::ObjectTree> tree, const ObjectLooks::Settings& settings,
          const OwnerOverride& owner, MemoryBudget& budget,
          frame::ObjectFrames::RemoveLater remove_later, frame::UploadSettings uploads,
          const frame::Clock& clock = frame::system_clock());

  /// Looks at SOURCE itself: throws where it cannot be shown.
  void require_shown();

  /// As Tree's.
  std::optional<FoundNode> lookup(NodeId id, const std::string& name);
  std::vector<DirectoryEntry> list(NodeId id, const std::function<void()>& if_many);
  FoundNode reference(NodeId id);
  NodeId parent(NodeId id) { return nodes_.get(id).parent; }
  void forget(NodeId id, std::uint64_t references) { nodes_.forget(id, references); }
  struct stat attributes(NodeId id);
  /// As far as that is known: asks for nothing.
  uid_t owner(NodeId id) { return base_status(nodes_.get(id)).st_uid; }
  std::string read_link(NodeId id);
  /// EIO where damage has left unknown what a store's directory holds.
  void require_listed(NodeId directory);
  /// For messages.
  std::string told_path(NodeId id);

  /// What an open file is: a container, or an object whose bytes are shown.
  struct Opened {
    std::shared_ptr<const OpenContainer> container;
    std::shared_ptr<const frame::ObjectSource> object;  ///< without a container
    struct stat attributes {};
  };
  /// In the state that the node stands for, or one that this mount has stored since: ESTALE if
  /// that is not the present one. EISDIR, ELOOP.
  Opened open(NodeId id, const ContentServices& services);

  // --- changes; EROFS of what cannot be changed

  /// A new file, with one reference, that is in the store once its content is
  /// committed. EEXIST, ENOTDIR, EINVAL for names that no frame can have.
  FoundNode create(NodeId directory, const std::string& name, const frame::FileAttributes& owner,
                   const std::string& suffix);
  /// What its handles share; it is leading from then on.
  void set_opened(NodeId id, const std::shared_ptr<const OpenContainer>& file) {
    nodes_.set_opened(id, file);
  }
  std::shared_ptr<const OpenContainer> opened(NodeId id) { return nodes_.get(id).open_file.lock(); }
  /// EROFS of what is no sparse frame.
  void require_changeable(NodeId id);
  bool is_changeable(NodeId id) const;
  /// ESTALE unless the node stands for what is there now: the fewer commits are
  /// made of an older state, the fewer conflicts there are.
  void require_present(NodeId id);
  FoundNode make_directory(NodeId directory, const std::string& name);
  /// Returns what is open of it, if anything is. `commit` is called for a new file that the store
  /// may have, of which a commit is under way or has an unknown outcome.
  std::shared_ptr<const OpenContainer> remove_file(NodeId directory, const std::string& name,
                                                   const std::function<void(NodeId)>& commit);
  void remove_directory(NodeId directory, const std::string& name);
  /// Of a file that is committed. EXDEV for directories. Returns what is open of the file that it
  /// replaces, if anything is.
  std::shared_ptr<const OpenContainer> rename(NodeId from, const std::string& from_name, NodeId to,
                                              const std::string& to_name, bool may_replace);
  /// Of a sparse frame, committed or not.
  void set_attributes(NodeId id, const frame::FileAttributes& attributes);
  frame::FileAttributes frame_attributes(NodeId id);
  bool is_directory(NodeId id) const;

  /// What a home asks (fs/source/objects/object_home.hpp).
  struct Stored {
    std::string directory, name;  ///< full
    std::string shown_name;
    bool is_new = false, is_removed = false;
    bool is_array = false;
  };
  Stored stored(NodeId id);
  /// True if another entry has that full name.
  bool is_taken(const std::string& directory, const std::string& full_name);
  /// Its content is stored as that from now on; what it was before goes.
  void stored_as(NodeId id, const std::string& full_name);
  /// Another state of it is stored.
  void rewritten(NodeId id);
  /// By this mount, whether or not its content knows.
  bool is_removed_here(NodeId id);
  /// A commit is about to give it its name. ESTALE where it was removed.
  void begin_storing(NodeId id) { nodes_.begin_storing(id); }
  bool is_in_place(NodeId id);
  void forget_listing_of(const std::string& path);
  /// What has its name is somebody else's: it has none any more.
  void given_up(NodeId id);
  /// Its content has gone: the next look finds what that has stored last.
  void record_outcome(NodeId id);
  const std::shared_ptr<frame::ObjectFrames>& frames() const { return frames_; }

  /// The frame that has the metalayers; null where there is none.
  std::shared_ptr<const frame::Snapshot> frame_of(NodeId id);
  /// What gives the node its extended attributes. Opens nothing.
  AttributeFacts::Of has_attributes_of(NodeId id) const;
  /// As Source's.
  StoredForm stored_form(NodeId id);
  /// The archive that the node is, or is in, and the group that it is, if it is one.
  struct Group {
    std::shared_ptr<const Archive> archive;
    std::string group;
  };
  std::optional<Group> group(NodeId id);

 private:
  using Node = ObjectNode;

  Opened open_as(NodeId id, const Node& found, const struct stat& shown,
                 const ContentServices& services);
  bool is_own(const Node& node, const ObjectLook& look) const;
  bool take_own_state(NodeId id, const Node& found);

  Node directory(NodeId id) const;
  FoundNode enter(Node node);
  ObjectListing::Judge judge_in(const std::string& directory);
  ListingPointer listing(const std::string& directory);
  std::optional<Node> find_in(NodeId parent, const Node& directory, const std::string& name,
                              const ObjectListing& listing);
  std::optional<Node> look_at(NodeId parent, const Node& directory, const frame::ObjectEntry& entry,
                              const ObjectListing& listing);
  ListingPointer single_listing();
  LookPointer look_at_directory(const std::string& name);
  std::optional<FoundNode> lookup_in_archive(NodeId parent, const Node& in,
                                             const std::string& name);
  static bool is_in_archive(const Node& node) { return node.part || node.look->is_store(); }
  std::shared_ptr<const Archive> archive_of(const Node& node);
  void measure(NodeId id, const Node& node);
  struct stat status(const Node& node) const;
  struct stat base_status(const Node& node) const;
  ino_t inode_of(const Node& node) const;
  ino_t inode_of(const std::string& path) const;
  ino_t inode_of(const std::string& archive, const ArchiveEntry& entry) const;
  mode_t guessed_type(const std::string& path, const frame::ObjectEntry& entry);
  std::string told(const Node& node) const;

  // fs/source/objects/object_changes.cpp

  std::optional<FoundNode> find_new(const std::string& directory, const std::string& name);
  void add_new(const std::string& directory, std::vector<DirectoryEntry>& entries) const;
  /// What is open for writing, or waits for a commit, at that path.
  std::optional<Node> find_leading(const std::string& path) const;
  void look_if_due(NodeId id);
  bool has_gone(const std::string& path, bool is_directory);
  bool may_have_gone(const Node& node);
  Node writable_directory(NodeId id) const;
  /// What has that name in a directory; ENOENT.
  std::pair<NodeId, Node> find_to_change(NodeId directory, const std::string& name);
  void remove_frame(const std::string& path);
  void remove_sent(NodeId id, const std::function<void(NodeId)>& commit);
  void put_marker(const std::string& path);
  void remove_marker(const std::string& path);
  template <typename Change>
  void with_marker(const std::string& path, const Change& change);
  void take_marker_back(const std::string& path);

  const frame::Clock& clock_;
  const std::shared_ptr<frame::ObjectTree> tree_;
  const frame::ObjectFrames::RemoveLater remove_later_;
  const std::shared_ptr<frame::ObjectFrames> frames_;
  MemoryBudget& budget_;
  const OwnerOverride owner_;
  const timespec began_;
  ObjectLooks looks_;
  ObjectListings listings_;
  ObjectNodes nodes_;
  RecentlyUsed<LookPointer, Archive, kRecentArchives> archives_;  ///< by their states
};

}  // namespace bloscfs::fs
