#pragma once
// Reads the nodes of a SOURCE of files. Decides for each node whether an archive answers for it, or
// the tree.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "fs/content/content.hpp"
#include "fs/content/open_file.hpp"
#include "fs/source/archives/archive.hpp"
#include "fs/source/local/archives/embedded_stores.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/source/recently_used.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// Looks up, lists, describes and opens what archives hold. Passes requests for other nodes to the
/// tree. Thread-safe. Throws std::system_error: ESTALE for nodes that are not known (any more),
/// EFBIG and ENOMEM if an archive, or all archives that a user has opened, hold too much;
/// codec::Error; NoSlot before it reads.
class LocalArchives {
 public:
  /// All arguments outlive this object. `raw` as in MountOptions.
  LocalArchives(const SourceRoot& root, Tree& tree, EmbeddedStores& embedded,
                RecentLocalArchives& recent, bool raw)
      : root_(root), tree_(tree), embedded_(embedded), raw_(raw), recent_(recent) {}

  /// Returns what a node is in an archive; null for a node of the tree. If an embedded group has
  /// become a directory of SOURCE, its node becomes one of the tree.
  std::shared_ptr<const ArchivePart> part(NodeId node);
  /// True for a part of an archive, and for the archive's file, which is shown as a directory.
  bool answers_for(NodeId node) { return part(node) != nullptr || tree_.is_store(node); }

  // Like the functions of Source, for any node.

  std::optional<FoundNode> lookup(Request& request, NodeId directory, const std::string& name);
  std::optional<std::vector<DirectoryEntry>> list(Request& request, NodeId directory,
                                                  const OnManyEntries& on_many_entries);
  std::optional<FoundNode> enter(Request& request, NodeId directory, const DirectoryEntry& entry);
  void require_listed(Request& request, NodeId directory);
  struct stat attributes(Request& request, NodeId node);
  std::string read_link(Request& request, NodeId node);
  std::string display_path(NodeId node) const;
  uid_t owner(NodeId node) const;
  bool is_over_network(NodeId node);

  // For archives and stores.

  /// A group: an archive's file, a group in an archive, or a directory of a store directory.
  /// group() returns nullopt for other nodes.
  struct Group {
    std::shared_ptr<const Archive> archive;
    std::string key;
    NodeId root = 0;  ///< node of the archive's file, or of the store directory
    std::shared_ptr<const struct stat> embed;  ///< status of embed.b2e if embedded; else null
  };
  std::optional<Group> group(Request& request, NodeId node);
  /// Returns the frame of a leaf; null for a link.
  std::shared_ptr<const frame::Snapshot> frame_of(Request& request, const ArchivePart& leaf,
                                                  NodeId node) const;
  /// Returns the access list of a leaf or an embedded group: that of the file that holds it, since
  /// the same users may access both. nullopt for other nodes, and for names of other attributes.
  std::optional<std::string> access_list(NodeId node, const std::string& name);
  /// Returns the open container that all handles of a leaf share. EISDIR for a group, ELOOP for a
  /// link.
  std::shared_ptr<const OpenContainer> open(Request& request, NodeId node,
                                            const ContentServices& services);

 private:
  Group group_in_archive(Request& request, NodeId node);
  std::shared_ptr<const Archive> archive_of(Request& request, NodeId root);
  std::shared_ptr<const ArchivePart> leaf_to_open(Request& request, NodeId node);
  struct stat attributes_of(Request& request, NodeId node, std::shared_ptr<const ArchivePart> part);

  const SourceRoot& root_;
  Tree& tree_;
  EmbeddedStores& embedded_;
  const bool raw_;
  RecentLocalArchives& recent_;
};

}  // namespace bloscfs::fs
