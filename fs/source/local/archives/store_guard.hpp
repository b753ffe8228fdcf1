#pragma once
// What is embedded in a store that is a directory stays as it is: the mount never writes to
// embed.b2e. Files of such a store, its external leaves, are changed like any others.

#include <memory>
#include <optional>
#include <string>

#include "fs/source/local/archives/local_archives.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/support/caller.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// To be asked before changes. Without effect outside of stores that are directories. Thread-safe.
/// Errors: std::system_error; EROFS where something embedded would change, be removed, or appear
/// again; codec::Error; NoSlot where something has to be read.
class StoreGuard {
 public:
  /// All outlive this object.
  StoreGuard(const SourceRoot& root, Tree& tree, EmbeddedStores& embedded, LocalArchives& archives)
      : root_(root), tree_(tree), embedded_(embedded), archives_(archives) {}

  /// Before a file is made, or gets a name by link(2): EEXIST where the key of that name is
  /// embedded.
  void before_making(Request& request, NodeId directory, const std::string& name);
  /// Before something is made in a directory: that of a group that only the map of embed.b2e knows
  /// is made first, as the caller.
  void make_directory_of(Request& request, NodeId directory);
  /// Before a file goes.
  void before_removing(Request& request, NodeId directory, const std::string& name);
  /// ENOTEMPTY where leaves are embedded in it.
  void before_removing_directory(Request& request, NodeId directory, const std::string& name);
  struct Rename {
    NodeId from;
    const std::string& from_name;
    NodeId to;
    const std::string& to_name;
    unsigned flags;
  };
  void before_renaming(Request& request, const Rename& rename);

 private:
  std::optional<ArchiveEntry> find_beside(Request& request, NodeId directory,
                                          const StorePlace& place, const std::string& name);
  bool hides_embedded(Request& request, NodeId directory, const StorePlace& place,
                      const std::string& name);
  /// `with_attributes`: those of groups count, too.
  bool holds_embedded(Request& request, const StorePlace& group, bool with_attributes);
  void require_free_key(Request& request, const StorePlace& place, const std::string& name);
  void require_movable(Request& request, NodeId directory, const StorePlace& place,
                       const std::string& name);

  const SourceRoot& root_;
  Tree& tree_;
  EmbeddedStores& embedded_;
  LocalArchives& archives_;
};

}  // namespace bloscfs::fs
