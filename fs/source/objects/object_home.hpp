#pragma once
// Where the content of an object's node is stored.

#include <functional>
#include <memory>
#include <string>

#include "fs/content/content_home.hpp"
#include "fs/source/objects/object_nodes.hpp"
#include "fs/source/objects/objects.hpp"
#include "fs/source/services.hpp"

namespace bloscfs::fs {

/// A commit puts an index on the condition that the object store still has the state from which the
/// commit was made. Therefore no lock is needed. If another host has committed first, its state
/// stays, and the mount stores its own contents next to it, as NAME.conflict-HOST-TIME. A content
/// never goes on to another state: the new state has another node.
class ObjectHome final : public ContentHome, public Takeover {
 public:
  /// Shared by all homes of a mount. Outlives them.
  struct Services {
    Objects& objects;
    ObjectNodes& nodes;
    const KernelCache& kernel;
    std::string suffix;  ///< suffix of new flat files
    bool raw = false;
    std::string rescue_folder;  ///< local folder for contents that cannot be stored; or empty
  };

  ObjectHome(const Services& services, NodeId node) : services_(services), node_(node) {}
  ~ObjectHome() override;

  std::string path() override;
  std::unique_ptr<NameLock> lock_name(Request& request) override;
  Takeover& takeover() override { return *this; }
  void committed(const frame::Snapshot& snapshot) override;
  void forget_pages(std::function<void()> done) override { done(); }
  void forget_attributes() override { services_.kernel.forget_attributes(node_); }

  bool is_in_place() override;
  bool is_removed_here() override;
  std::unique_ptr<SavedCopy> saved_copy(Request& request, SavedCopyKind kind, ShownAs shown,
                                        uid_t user) override;
  Following follow(Request& request, const MakeReady& make_ready) override;

 private:
  class Lock;

  void note_stored_state(const Change& change, const std::string& full_name);
  void rewritten();

  const Services& services_;
  const NodeId node_;
};

}  // namespace bloscfs::fs
