#pragma once
// Decides what becomes of a content whose file another program has changed in SOURCE.

#include <memory>
#include <optional>

#include "fs/content/takeover.hpp"
#include "fs/source/local/names/name_services.hpp"
#include "fs/source/local/tree/tree.hpp"

namespace bloscfs::fs {

class NodeTakeover final : public Takeover {
 public:
  /// The NodeHome keeps the node alive.
  NodeTakeover(NameServices& services, NodeId node) : services_(services), node_(node) {}

  bool is_in_place() override { return services_.tree.is_in_place(node_); }
  bool is_being_written(Request& request) override;
  std::unique_ptr<SavedCopy> saved_copy(Request& request, SavedCopyKind kind, ShownAs shown,
                                        uid_t user) override;
  Following follow(Request& request, const MakeReady& make_ready) override;

 private:
  std::shared_ptr<const frame::Snapshot> open_successor(const SourcePath& path,
                                                        const SourceEntry& seen) const;

  NameServices& services_;
  const NodeId node_;
};

}  // namespace bloscfs::fs
