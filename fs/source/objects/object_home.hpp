#pragma once
// Where the content of an object's node is stored.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "fs/content/content_home.hpp"
#include "fs/source/objects/object_takeover.hpp"
#include "fs/source/objects/objects.hpp"
#include "fs/source/services.hpp"

namespace bloscfs::fs {

/// A commit is the put of an index, which names no other state than the one it was made from: so
/// nothing is locked.
class ObjectHome final : public ContentHome {
 public:
  /// `objects` and `kernel` outlive it. `suffix` and `refuge` as of ObjectTakeover.
  ObjectHome(Objects& objects, NodeId node, const std::string& suffix, bool raw, std::string refuge,
             const KernelCache& kernel)
      : objects_(objects),
        kernel_(kernel),
        node_(node),
        suffix_(suffix),
        raw_(raw),
        takeover_(objects, node, suffix, std::move(refuge)) {}
  ~ObjectHome() override;

  std::string path() override;
  std::unique_ptr<NameLock> lock_name() override;
  Takeover& takeover() override { return takeover_; }
  void forget_pages(std::function<void()> done) override { done(); }
  void forget_attributes() override { kernel_.forget_attributes(node_); }

 private:
  class Lock;

  Objects& objects_;
  const KernelCache& kernel_;
  const NodeId node_;
  const std::string suffix_;
  const bool raw_;
  ObjectTakeover takeover_;
};

}  // namespace bloscfs::fs
