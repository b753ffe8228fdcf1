#pragma once
// What is embedded in stores of python-blosc2 that are directories: the leaves in their embed.b2e.

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
#include "fs/source/local/tree/beside.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/source/recently_used.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Node, and of the root of a mount of one archive also inode and time of change of the file: other
/// nodes stand for one state.
using ArchiveState = std::tuple<NodeId, std::uint64_t, std::int64_t>;
using RecentLocalArchives = RecentlyUsed<ArchiveState, Archive, boost::hash<ArchiveState>>;

/// Thread-safe. Throws std::system_error, EFBIG and ENOMEM where a store, or the stores that a user
/// has opened, hold too much; codec::Error. NoSlot before it reads.
class EmbeddedStores final : public Beside {
 public:
  /// All outlive this object; `tree` asks it what stands beside its entries. `raw` as of
  /// MountOptions.
  EmbeddedStores(const SourceRoot& root, Tree& tree, RecentLocalArchives& recent, bool raw)
      : root_(root), tree_(tree), raw_(raw), recent_(recent) {
    tree.set_beside(*this);
  }

  // As Tree asks for them (fs/source/local/tree/beside.hpp).

  std::optional<ArchiveEntry> find(NamesWork& work, const StorePlace& place,
                                   const std::string& full_name) override;
  bool has_any(NamesWork& work, const StorePlace& place) override;
  void require_complete(Request& request, const StorePlace& place,
                        const std::string& name) override;
  std::optional<Listed> list(Request& request, const StorePlace& place,
                             const IfMany& if_any) override;
  std::shared_ptr<const ArchivePart> part(Request& request, const StorePlace& place,
                                          const std::string& full_name) override;

  struct stat attributes(Request& request, const ArchivePart& part) override;

  /// What a directory's embed.b2e is now; null archive if it is no store.
  struct Embedded {
    std::shared_ptr<const StoreArchive> archive;
    /// Of embed.b2e, with the inode number of the directory: numbers of leaves hang on what stays
    /// when embed.b2e is written anew.
    std::shared_ptr<const struct stat> status;
  };
  Embedded embedded(Request& request, const StorePlace& place);
  /// The same with names locked: it is read without the lock.
  Embedded embedded(NamesWork& work, const StorePlace& place);
  /// All of the store, files included, for one look at a group.
  std::shared_ptr<const StoreArchive> open_whole(Request& request, const StorePlace& place);

 private:
  /// The last state of a directory's embed.b2e that was looked at.
  struct State {
    FileState state;
    std::weak_ptr<const StoreArchive> archive;
    std::shared_ptr<const struct stat> status;
    bool is_none = false;  ///< no store
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
  std::size_t states_to_look_through_ GUARDED_BY(mutex_) = 64;
};

}  // namespace bloscfs::fs
