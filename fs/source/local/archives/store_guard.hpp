#pragma once
// Protects what store directories have embedded: the mount never writes to embed.b2e. Files of such
// a store, its external leaves, are changed like any other files.

#include <memory>
#include <optional>
#include <string>

#include "fs/source/local/archives/local_archives.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/support/caller.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// Checks changes before they are made. Has no effect outside of store directories. Thread-safe.
/// Throws std::system_error, with EROFS if an embedded entry would change, be removed, or appear
/// again; codec::Error; NoSlot if something has to be read.
class StoreGuard {
 public:
  /// All arguments outlive this object.
  StoreGuard(const SourceRoot& root, Tree& tree, EmbeddedStores& embedded, LocalArchives& archives)
      : root_(root), tree_(tree), embedded_(embedded), archives_(archives) {}

  /// Must be called before a file is made, or gets a name by link(2). EEXIST if the key of that
  /// name is embedded. Calls make_directory_of() at its end.
  void before_making(Request& request, NodeId directory, const std::string& name);
  /// Must be called before something is made in a directory. If the directory is a group that only
  /// the map of embed.b2e knows, makes it in SOURCE, as the caller.
  void make_directory_of(Request& request, NodeId directory);
  /// Must be called before a file is removed.
  void before_removing(Request& request, NodeId directory, const std::string& name);
  /// Must be called before a directory is removed. ENOTEMPTY if leaves are embedded in it.
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
  std::optional<ArchiveEntry> find_embedded(Request& request, NodeId directory,
                                            const StorePlace& place, const std::string& name);
  bool hides_embedded(Request& request, NodeId directory, const StorePlace& place,
                      const std::string& name);
  /// `with_attributes`: embedded attributes of groups count, too.
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
