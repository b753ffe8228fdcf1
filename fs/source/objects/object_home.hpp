#pragma once
// Where the content of an object's node is stored.

#include <functional>
#include <memory>
#include <string>

#include "fs/content/content_home.hpp"
#include "fs/source/objects/objects.hpp"

namespace bloscfs::fs {

/// A commit is the put of an index, which names no other state than the one it was made from: so
/// nothing is locked. What another host has committed first stays, and what was written here is put
/// beside it, as NAME.conflict-HOST-TIME.
class ObjectHome final : public ContentHome {
 public:
  /// `objects` and `forget_attributes` outlive it. `suffix` is that of new flat files; `refuge` a
  /// folder for what cannot be committed in the end, or empty.
  ObjectHome(Objects& objects, NodeId node, std::string suffix, bool raw, std::string refuge,
             const std::function<void(NodeId)>& forget_attributes)
      : objects_(objects),
        forget_attributes_(forget_attributes),
        node_(node),
        suffix_(std::move(suffix)),
        raw_(raw),
        refuge_(std::move(refuge)) {}
  ~ObjectHome() override;

  std::string path() override;
  bool is_in_place() override { return objects_.is_in_place(node_); }
  bool is_removed_here() override { return objects_.is_removed_here(node_); }
  void require_finished() override {}
  std::unique_ptr<Refuge> conflict_refuge(ShownAs shown, uid_t user) override;
  std::unique_ptr<Refuge> recovery_refuge(ShownAs shown, uid_t user) override;
  /// The content ends with its state: what has the name now is another node.
  Following follow(const MakeReady& make_ready) override {
    static_cast<void>(make_ready(nullptr));
    objects_.given_up(node_);
    return {nullptr, false, true};
  }
  void forget_pages(std::function<void()> done) override { done(); }
  void forget_attributes() override { forget_attributes_(node_); }
  std::unique_ptr<NameLock> lock_name() override;

 private:
  class Lock;

  Objects& objects_;
  const std::function<void(NodeId)>& forget_attributes_;
  const NodeId node_;
  const std::string suffix_;
  const bool raw_;
  const std::string refuge_;
};

}  // namespace bloscfs::fs
