#pragma once
// Extended attributes of the mount: those of containers, and those of the source files.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/mount/attribute_cache.hpp"
#include "fs/mount/file_contents.hpp"
#include "fs/source/caller.hpp"
#include "fs/source/local/names/namespace.hpp"
#include "fs/source/local/stores/stores.hpp"
#include "fs/source/local/tree/tree.hpp"

namespace bloscfs::fs {

/// Thread-safe. Errors: std::system_error, codec::Error; NoTurn where these have to decode, or to
/// change a container's own attributes.
class ExtendedAttributes {
 public:
  struct Services {
    Tree& tree;
    Stores& stores;
    Namespace& names;
    FileContents& contents;
  };
  /// The services and the `budget`, of which its memory is a part, outlive it.
  ExtendedAttributes(Services services, MemoryBudget& budget, bool writable)
      : tree_(services.tree),
        stores_(services.stores),
        names_(services.names),
        contents_(services.contents),
        known_(budget),
        writable_(writable) {}

  std::vector<std::string> list(NodeId node);
  /// Of a name that is in a name space that is shown. Throws ENODATA where there is none.
  std::string read(NodeId node, const std::string& name);
  /// `flags` as in setxattr(2). EPERM for what is computed or says what a frame is, unless that is
  /// the value that it has; EINVAL for other names below user.blosc2. and for what is no JSON.
  void set(NodeId node, const std::string& name, const std::string& value, int flags,
           const Caller& caller);
  void remove(NodeId node, const std::string& name, const Caller& caller);

 private:
  std::shared_ptr<const FrameAttributes> look_at_frame(NodeId node, const SourceEntry& entry);
  std::optional<std::string> frame_attribute(NodeId node, const SourceEntry& entry,
                                             const std::string& name);
  void set_fixed(NodeId node, const SourceEntry& entry, const std::string& name,
                 const std::string& value, int flags);
  SourceEntry entry_to_change(NodeId node, const std::string& name);

  Tree& tree_;
  Stores& stores_;
  Namespace& names_;
  FileContents& contents_;
  AttributeCache known_;
  const bool writable_;
};

}  // namespace bloscfs::fs
