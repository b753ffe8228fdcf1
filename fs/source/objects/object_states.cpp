// Which state of an object a node of the tree stands for, and what its content
// is stored as.

#include <cerrno>
#include <system_error>

#include "frame/store/throw_errno.hpp"
#include "fs/source/objects/objects.hpp"
#include "fs/source/objects/told_failures.hpp"
#include "fs/support/relative_path.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;
using Kind = ObjectLook::Kind;

}  // namespace

std::optional<Objects::Node> Objects::find_leading(const std::string& path) const {
  auto found = nodes_.leading(path);
  if (!found) return std::nullopt;
  const auto file = found->open_file.lock();
  if (!file || found->is_removed || !file->content->leads() || frames_->is_overtaken(path))
    return std::nullopt;
  return found;
}

void Objects::look_if_due(NodeId id) {
  const Node known = nodes_.get(id);
  if (!known.look_is_due || known.part || !known.open_file.expired()) return;
  TurnAtNeed::need();
  nodes_.adopt(id, looks_.look(known.path, {true, std::nullopt, {}}));
}

/// True of a state that a commit of this mount has stored.
bool Objects::is_own(const Node& node, const ObjectLook& look) const {
  const auto stored = frames_->state(node.path);
  return (stored && stored->same_bytes(look.state)) ||
         (node.outcome && node.outcome->same_bytes(look.state));
}

/// Of a node as it was found: true if it stands for another state now, which its own content has
/// stored.
bool Objects::take_own_state(NodeId id, const Node& found) {
  if (!nodes_.leads(id)) return false;
  const LookPointer look = looks_.look(found.path, {true, std::nullopt, {}});
  if (!is_own(found, *look)) return false;
  if (look != found.look) nodes_.rekey(id, look);
  return nodes_.get(id).look != found.look;
}

void Objects::record_outcome(NodeId id) {
  if (const auto known = nodes_.find(id)) nodes_.record_outcome(id, frames_->state(known->path));
}

bool Objects::has_gone(const std::string& path, bool is_directory) {
  if (!is_directory) return false;
  const LookPointer look = looks_.look(path, {true, std::nullopt, {}});
  if (look->kind == Kind::removed) return true;
  if (look->kind != Kind::directory) return false;
  // A directory is gone when nothing in it is shown, and its own key is not
  // there.
  if (!listing(path)->entries().empty()) return false;
  try {
    tree_->open(path + "/", nullptr);
    return false;
  } catch (const std::system_error& error) {
    if (!is_absent(error)) throw;
    return true;
  }
}

/// A directory may be there for what is left of its files alone; the listing
/// that it is in tells.
bool Objects::may_have_gone(const Node& node) {
  if (node.look->kind != Kind::directory) return false;
  try {
    return listing(node.path)->entries().empty();
  } catch (const std::system_error& error) {
    if (!is_absent(error)) throw;
    return true;
  }
}

bool Objects::is_changeable(NodeId id) const {
  const Node found = nodes_.get(id);
  return tree_->is_writable() && !found.part && found.look->kind == Kind::sframe;
}

void Objects::require_changeable(NodeId id) {
  if (!is_changeable(id)) throw_errno(EROFS, told_path(id));
}

void Objects::require_present(NodeId id) {
  const Node found = nodes_.get(id);
  if (found.is_new) return;
  if (frames_->is_overtaken(found.path)) throw_errno(ESTALE, found.path);
  const auto file = found.open_file.lock();
  if (file && file->content->leads()) return;
  const LookPointer look = looks_.look_anew(found.path, true);
  if (look == found.look || look->state.same_bytes(found.look->state) || is_own(found, *look))
    return;
  throw_errno(ESTALE, found.path);
}

// --- what homes ask

Objects::Stored Objects::stored(NodeId id) {
  const Node found = nodes_.get(id);
  Stored stored;
  stored.directory = parent_of(found.path);
  stored.name = name_of(found.path);
  stored.is_new = found.is_new;
  stored.is_removed = found.is_removed;
  stored.is_array = found.look->shown == ShownAs::array;
  stored.shown_name =
      found.shown_name.empty() ? preferred_name(stored.name, found.look->shown) : found.shown_name;
  return stored;
}

bool Objects::is_taken(const std::string& directory, const std::string& full_name) {
  const ListingPointer listed = listing(directory);
  const frame::ObjectEntry* const entry = listed->find(full_name);
  if (entry == nullptr) return false;
  // What a removed frame has left is listed, too: an array would become a flat file beside it.
  if (!entry->is_directory) return true;
  return looks_.look_anew(path_in(directory, full_name), true)->kind != Kind::removed;
}

void Objects::stored_as(NodeId id, const std::string& full_name) {
  // Before it is no new file any more: it would be neither new nor listed for a moment.
  rewritten(id);
  forget_listing_of(nodes_.get(id).path);
  const auto [before, path, was_new] = nodes_.stored_as(id, full_name);
  rewritten(id);
  forget_listing_of(path);
  remove_marker(path);
  if (before != path && !was_new) remove_frame(before);
}

void Objects::rewritten(NodeId id) {
  const Node found = nodes_.get(id);
  looks_.forget(found.path);
  if (const auto file = found.open_file.lock()) nodes_.note_stored(id, file->content->attributes());
}

void Objects::given_up(NodeId id) {
  const auto path = nodes_.take_names(id);
  if (!path) return;
  frames_->forget_plan(*path);
  looks_.forget(*path);
  forget_listing_of(*path);
}

void Objects::forget_listing_of(const std::string& path) { listings_.forget(parent_of(path)); }

bool Objects::is_removed_here(NodeId id) {
  const auto found = nodes_.find(id);
  return found && (found->is_removed || frames_->is_removed(found->path));
}

bool Objects::is_in_place(NodeId id) {
  const Node found = nodes_.get(id);
  // Once another state has the path, what is stored there is no more of this node than what
  // another host has stored.
  return !found.is_removed && nodes_.leads(id) && !frames_->is_overtaken(found.path);
}

}  // namespace bloscfs::fs
