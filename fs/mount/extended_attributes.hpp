#pragma once
// Extended attributes of the mount: those of containers and of groups of stores, and those of the
// stored files.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/mount/attribute_cache.hpp"
#include "fs/source/caller.hpp"
#include "fs/source/contents.hpp"
#include "fs/source/source.hpp"
#include "fs/view/attributes.hpp"

namespace bloscfs::fs {

/// Thread-safe. Throws std::system_error and codec::Error; NoTurn before it decodes, or changes a
/// container's own attributes.
class ExtendedAttributes {
 public:
  /// All outlive it; its memory is a part of `budget`.
  ExtendedAttributes(Source& source, Contents& contents, MemoryBudget& budget)
      : source_(source), contents_(contents), known_(budget) {}

  std::vector<std::string> list(NodeId node);
  /// Of a name that is in a name space that is shown. Throws ENODATA where there is none.
  std::string read(NodeId node, const std::string& name);
  /// `flags` as in setxattr(2). EPERM for what is computed or says what a frame is, unless that is
  /// the value that it has; EINVAL for other names below user.blosc2. and for what is no JSON.
  void set(NodeId node, const std::string& name, const std::string& value, int flags,
           const Caller& caller);
  void remove(NodeId node, const std::string& name, const Caller& caller);

 private:
  std::shared_ptr<const FrameAttributes> look_at_frame(NodeId node, const AttributeFacts& facts);
  std::optional<std::string> frame_attribute(NodeId node, const AttributeFacts& facts,
                                             const std::string& name);
  AttributeFacts facts_to_change(NodeId node, const std::string& name);

  Source& source_;
  Contents& contents_;
  AttributeCache known_;
};

}  // namespace bloscfs::fs
