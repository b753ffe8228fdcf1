#pragma once
// What becomes of a content whose object another host has replaced.

#include <memory>
#include <string>
#include <utility>

#include "fs/content/takeover.hpp"
#include "fs/source/objects/objects.hpp"

namespace bloscfs::fs {

/// What another host has committed first stays, and what was written here is put beside it, as
/// NAME.conflict-HOST-TIME. The content ends with its state: what has the name now is another node.
class ObjectTakeover final : public Takeover {
 public:
  /// `objects` outlives it. `suffix` is that of new flat files; `refuge` a folder for what cannot
  /// be committed in the end, or empty.
  ObjectTakeover(Objects& objects, NodeId node, std::string suffix, std::string refuge)
      : objects_(objects), node_(node), suffix_(std::move(suffix)), refuge_(std::move(refuge)) {}

  bool is_in_place() override { return objects_.is_in_place(node_); }
  bool is_removed_here() override { return objects_.is_removed_here(node_); }
  std::unique_ptr<Refuge> refuge(RefugeKind kind, ShownAs shown, uid_t user) override;
  Following follow(const MakeReady& make_ready) override;

 private:
  Objects& objects_;
  const NodeId node_;
  const std::string suffix_;
  const std::string refuge_;
};

}  // namespace bloscfs::fs
