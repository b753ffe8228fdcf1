#pragma once
// The nodes of what archives hold, in a SOURCE of files: what they are, and what is read of them.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "fs/content/content.hpp"
#include "fs/content/open_file.hpp"
#include "fs/source/archives/archive_part.hpp"
#include "fs/source/local/archives/embedded_stores.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/source/recently_used.hpp"

namespace bloscfs::fs {

/// Thread-safe. Throws std::system_error: ESTALE for nodes that are not known (any more), EFBIG and
/// ENOMEM where an archive, or the archives that a user has opened, hold too much; codec::Error.
/// NoTurn before it reads.
class LocalArchives {
 public:
  /// All outlive this object. `raw` as of MountOptions.
  LocalArchives(const SourceRoot& root, Tree& tree, EmbeddedStores& embedded, MemoryBudget& budget,
                bool raw)
      : root_(root), tree_(tree), embedded_(embedded), raw_(raw), recent_(budget) {}

  /// What a node is in an archive; null for a node of the tree. The node of an embedded group is
  /// the tree's once the group has become a directory of SOURCE.
  std::shared_ptr<const ArchivePart> part(NodeId node);
  /// True for a part, and for an archive's file, which is shown as a directory.
  bool answers_for(NodeId node) { return part(node) != nullptr || tree_.is_store(node); }

  // Of what it answers for.

  /// As Tree's.
  std::optional<FoundNode> lookup(NodeId directory, const std::string& name);
  std::vector<DirectoryEntry> list(NodeId directory, const std::function<void()>& if_many);
  /// EIO at the end of a listing that damage has left incomplete; of any directory.
  void require_listed(NodeId directory);
  /// The frame that has the metalayers; null where there is none.
  std::shared_ptr<const frame::Snapshot> frame_of(NodeId node);
  /// Of a group. Nothing where it has none of that name.
  std::optional<std::string> group_attribute(NodeId node, const std::string& name);
  /// Who may do what with a file that holds leaves may do that with each of them: its access list,
  /// of a leaf, or of a group that is embedded.
  std::optional<std::string> access_list(NodeId node, const std::string& name);

  // The node of a part.

  struct stat attributes(NodeId node);
  std::string read_link(NodeId node);
  std::string told_path(NodeId node) const;
  /// What all handles of a leaf share. EISDIR, ELOOP of what is none.
  std::shared_ptr<const OpenContainer> open(NodeId node, const ContentServices& services);

 private:
  struct Place {
    std::shared_ptr<const Archive> archive;
    NodeId root = 0;
    std::string group;
    std::shared_ptr<const struct stat> embed;
  };

  Place place(NodeId directory);
  std::shared_ptr<const Archive> archive_of(NodeId root);
  std::shared_ptr<const ArchivePart> leaf_to_open(NodeId node);
  struct stat status(const ArchivePart& part) const;
  FoundNode enter(NodeId directory, const std::shared_ptr<const ArchivePart>& part);

  const SourceRoot& root_;
  Tree& tree_;
  EmbeddedStores& embedded_;
  const bool raw_;
  RecentlyUsed<NodeId, Archive, kRecentArchives> recent_;
};

}  // namespace bloscfs::fs
