#include "fs/source/objects/object_home.hpp"

#include <cerrno>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "frame/store/throw_errno.hpp"
#include "fs/source/naming.hpp"
#include "fs/support/relative_path.hpp"

namespace bloscfs::fs {

class ObjectHome::Lock final : public NameLock {
 public:
  Lock(Request& request, ObjectHome& home)
      : request_(request), home_(home), node_(home.services_.nodes.get(home.node_)) {
    place_.directory = home.services_.objects.frames().directory(parent_of(node_.path));
    place_.name = name_of(node_.path);
    place_.is_temporary = node_.is_new;
    place_.is_sparse = true;
    place_.is_unlinked = node_.is_removed;
    place_.is_shared = true;
  }

  const StoredPlace& place() const override { return place_; }
  const RepresentationNames& names() override {
    if (names_) return *names_;
    names_.emplace();
    const std::string shown = node_.name_shown();
    names_->flat = name_as(ShownAs::flat, shown + home_.services_.suffix);
    if (!home_.services_.raw && shown.ends_with(kNpySuffix) && shown.size() > kNpySuffix.size())
      names_->array = name_as(ShownAs::array, shown.substr(0, shown.size() - kNpySuffix.size()) +
                                                  std::string(kArraySuffix));
    return *names_;
  }
  void before_giving_name(const std::string&, ShownAs) override {
    home_.services_.nodes.change(home_.node_, [](ObjectNode& node) {
      if (node.is_removed) frame::throw_errno(ESTALE, node.path);
      node.is_sent = true;
    });
  }
  std::string give_name(const std::string&, const frame::FileId&, const std::string& full_name,
                        ShownAs, const std::function<bool()>&) override {
    home_.note_stored_state(Change(request_), full_name);
    return full_name;
  }
  bool refresh(const frame::FileStamp&) override {
    home_.rewritten();
    return !home_.services_.nodes.get(home_.node_).is_removed;
  }

 private:
  /// Returns the full name for that representation; empty if the object store has another entry of
  /// that name. A stored file keeps its name for the representation that it has.
  std::string name_as(ShownAs shown, const std::string& wanted) {
    if (wanted == place_.name || (!node_.is_new && node_.look->shown == shown)) return place_.name;
    const bool is_taken = home_.services_.objects.is_taken(request_, parent_of(node_.path), wanted);
    return is_taken ? std::string() : wanted;
  }

  Request& request_;
  ObjectHome& home_;
  const ObjectNode node_;
  StoredPlace place_;
  std::optional<RepresentationNames> names_;
};

/// Drops the node if the kernel has forgotten it while a commit was pending.
ObjectHome::~ObjectHome() { services_.nodes.forget(node_, 0); }

std::string ObjectHome::path() {
  // A commit may end after its file was removed and the node was dropped.
  const auto node = services_.nodes.find(node_);
  return node && !node->is_removed ? node->path : std::string();
}

std::unique_ptr<NameLock> ObjectHome::lock_name(Request& request) {
  return std::make_unique<Lock>(request, *this);
}

/// Records that the content is now stored as `full_name`. If the name has changed, removes the
/// frame that has the old name.
void ObjectHome::note_stored_state(const Change& change, const std::string& full_name) {
  Objects& objects = services_.objects;
  // Drops the cached listing before the node stops being new. Otherwise the mount would not list
  // the file for a moment: it would be neither new nor in the cached listing.
  rewritten();
  const ObjectNode before = services_.nodes.get(node_);
  objects.forget_listing(parent_of(before.path));
  const ObjectNode stored = services_.nodes.note_stored_state(node_, full_name);
  rewritten();
  objects.forget_listing(parent_of(stored.path));
  if (before.path == stored.path || before.is_new) return;
  try {
    objects.remove_frame(change, before.path, before.look->state, before.open_file);
  } catch (const std::system_error& error) {
    // Another host has committed to the old name. Its state stays as a file of its own.
    if (error.code() != std::errc(ESTALE)) throw;
  }
}

/// Gives the node the state that this mount stored last. Until committed() is called, the other
/// members of the look are outdated, and the open content has the current size.
void ObjectHome::rewritten() {
  const ObjectNode node = services_.nodes.get(node_);
  services_.objects.looks().forget(node.path);
  const auto stored = services_.objects.frames().own_state(node.path);
  if (!stored || stored->same_bytes(node.look->state)) return;
  services_.nodes.rekey(node_, with_state(*node.look, *stored));
}

void ObjectHome::committed(const frame::Snapshot& snapshot) {
  try {
    const std::string path = services_.nodes.get(node_).path;
    const auto stored = services_.objects.frames().own_state(path);
    if (!stored) return;
    services_.nodes.rekey(node_, services_.objects.looks().committed(path, snapshot, *stored));
  } catch (const std::exception&) {
    // The commit is durable all the same. The next look reports the error.
  }
}

bool ObjectHome::is_in_place() {
  const ObjectNode node = services_.nodes.get(node_);
  // If another node owns the path, the stored state belongs to that node, as if another host had
  // stored it.
  return !node.is_removed && services_.nodes.owns_path(node_) &&
         !services_.objects.frames().is_overtaken(node.path);
}

bool ObjectHome::is_removed_here() {
  const auto node = services_.nodes.find(node_);
  return !node || node->is_removed || services_.objects.frames().is_removed(node->path);
}

/// Never takes over another program's state, because that has another node. Removes the
/// name of this node instead.
Takeover::Following ObjectHome::follow(Request&, const MakeReady& make_ready) {
  static_cast<void>(make_ready(nullptr));
  if (const auto node = services_.nodes.find(node_)) {
    // Only a new file has a plan. If this file was stored before, the plan belongs to a new file
    // that has the same path by now.
    if (node->is_new && !node->is_removed) services_.objects.frames().forget_plan(node->path);
    services_.nodes.mark_removed(node_);
    services_.objects.forget(node->path);
  }
  return {nullptr, false, true};  // must_not_follow
}

}  // namespace bloscfs::fs
