#pragma once
// Finds the leaves that store directories of python-blosc2 have embedded in their embed.b2e.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <boost/container_hash/hash.hpp>
#include <sys/stat.h>

#include "fs/source/archives/store_archive.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/tree/embedded_entries.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/source/recently_used.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Identifies a cached archive by its node, which stands for one state of the file. Only the root
/// of a mount of one archive stands for any state. So inode and time of change of the file are
/// added there; they are 0 for other nodes.
using ArchiveState = std::tuple<NodeId, std::uint64_t, std::int64_t>;
using RecentLocalArchives = RecentlyUsed<ArchiveState, Archive, boost::hash<ArchiveState>>;

/// Finds embedded leaves and groups, and keeps embed.b2e open for further lookups. Thread-safe.
/// Throws std::system_error, with EFBIG and ENOMEM if a store, or all stores that a user has
/// opened, hold too much; codec::Error; NoSlot before it reads.
class EmbeddedStores final : public EmbeddedEntries {
 public:
  /// All arguments outlive this object. The constructor makes `tree` ask this object for embedded
  /// entries. `raw` as in MountOptions.
  EmbeddedStores(const SourceRoot& root, Tree& tree, RecentLocalArchives& recent, bool raw)
      : root_(root), tree_(tree), raw_(raw), recent_(recent) {
    tree.set_embedded(*this);
  }

  // The interface that Tree uses (fs/source/local/tree/embedded_entries.hpp).

  std::optional<ArchiveEntry> find(NamesWork& work, const StorePlace& place,
                                   const std::string& full_name) override;
  bool has_any(NamesWork& work, const StorePlace& place) override;
  void require_complete(Request& request, const StorePlace& place,
                        const std::string& name) override;
  std::optional<Listed> list(Request& request, const StorePlace& place,
                             const OnManyEntries& if_any) override;
  std::shared_ptr<const ArchivePart> part(Request& request, const StorePlace& place,
                                          const std::string& full_name) override;

  struct stat attributes(Request& request, const ArchivePart& part) override;

  /// The present state of a directory's embed.b2e. `archive` is null if that file is missing, or no
  /// store.
  struct Embedded {
    std::shared_ptr<const StoreArchive> archive;
    /// Status of embed.b2e, but with the inode number of the directory. Inode numbers of leaves are
    /// made from it, so that they stay the same when embed.b2e is replaced.
    std::shared_ptr<const struct stat> status;
  };
  Embedded embedded(Request& request, const StorePlace& place);
  /// Like embedded(request, place), for an operation that holds the lock on names. Reads without
  /// the lock.
  Embedded embedded(NamesWork& work, const StorePlace& place);
  /// Opens the whole store with its files, to look at one of its groups. Null if it is no store.
  std::shared_ptr<const StoreArchive> open_whole(Request& request, const StorePlace& place);

 private:
  /// The state of a directory's embed.b2e that was looked at last.
  struct State {
    FileState state;
    std::weak_ptr<const StoreArchive> archive;
    std::shared_ptr<const struct stat> status;
    bool is_none = false;  ///< the file is no store
  };

  std::optional<Embedded> known(NodeId root, const FileState& state) EXCLUDES(mutex_);
  Embedded remember(NodeId root, const FileState& state, Embedded found,
                    const StoreArchive* outdated) EXCLUDES(mutex_);
  Embedded open(Request& request, const StorePlace& place,
                std::shared_ptr<const SourceObject> embed);

  const SourceRoot& root_;
  Tree& tree_;
  const bool raw_;
  RecentLocalArchives& recent_;
  Mutex mutex_{LockLevel::queue};
  std::map<NodeId, State> states_ GUARDED_BY(mutex_);  ///< by the store's directory
  /// Size of states_ at which unused ones are dropped.
  std::size_t states_prune_limit_ GUARDED_BY(mutex_) = 64;
};

}  // namespace bloscfs::fs
