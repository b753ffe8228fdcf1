// What changes in a tree of objects: names, attributes, and which state a node stands for.

#include <algorithm>
#include <cerrno>
#include <climits>
#include <system_error>

#include "frame/sframe/shared_frames.hpp"
#include "frame/store/refusal.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/objects/objects.hpp"
#include "fs/source/objects/told_failures.hpp"
#include "fs/support/log.hpp"
#include "fs/support/relative_path.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;
using Kind = ObjectLook::Kind;

void require_name(const std::string& name, const std::string& full_name) {
  if (full_name.size() > NAME_MAX) throw_errno(ENAMETOOLONG, name);
  if (name.starts_with(".bloscfs-")) throw_errno(EPERM, name);
}

}  // namespace

// --- new files

std::optional<FoundNode> Objects::find_new(const std::string& directory, const std::string& name) {
  const auto found = nodes_.find_new(directory, name);
  return found ? std::optional(reference(*found)) : std::nullopt;
}

void Objects::add_new(const std::string& directory, std::vector<DirectoryEntry>& entries) const {
  for (const auto& [name, path] : nodes_.new_in(directory)) {
    const bool is_listed =
        std::any_of(entries.begin(), entries.end(),
                    [&name = name](const auto& entry) { return entry.shown_name == name; });
    if (!is_listed) entries.push_back({name, name_of(path), S_IFREG, inode_of(path)});
  }
}

Objects::Node Objects::writable_directory(NodeId id) const {
  Node found = directory(id);
  if (!tree_->is_writable() || is_in_archive(found)) throw_errno(EROFS, found.path);
  if (tree_->single()) throw_errno(EPERM, "another file beside a single one");
  return found;
}

FoundNode Objects::create(NodeId directory, const std::string& name,
                          const frame::FileAttributes& owner, const std::string& suffix) {
  const Node in = writable_directory(directory);
  const std::string full_name = name + suffix;
  require_name(name, full_name);
  if (const auto present = lookup(directory, name)) {
    forget(present->id, 1);
    throw_errno(EEXIST, name);
  }
  Node made;
  made.parent = directory;
  made.path = path_in(in.path, full_name);
  made.shown_name = name;
  made.is_new = true;
  made.owner = owner;
  ObjectLook look;
  look.kind = Kind::sframe;
  look.shown = ShownAs::flat;
  made.look = std::make_shared<const ObjectLook>(std::move(look));
  made.references = 1;
  const std::string path = made.path;
  FoundNode found;
  found.attributes = status(made);
  found.id = nodes_.add_new(in.path, std::move(made));
  frames_->set_owner(path, owner);
  return found;
}

// --- names

FoundNode Objects::make_directory(NodeId directory, const std::string& name) {
  const Node in = writable_directory(directory);
  require_name(name, name);
  if (const auto present = lookup(directory, name)) {
    forget(present->id, 1);
    throw_errno(EEXIST, name);
  }
  TurnAtNeed::need_no_more();
  const std::string path = path_in(in.path, name);
  try {
    tree_->put(path + "/", {}, {frame::ObjectCondition::Kind::absent, {}}, {});
  } catch (const std::system_error& error) {
    // What was left of one that was removed; or another host was first.
    if (error.code() != std::errc(ESTALE)) throw;
  }
  looks_.forget(path);
  remove_marker(path);
  forget_listing_of(path);
  auto found = lookup(directory, name);
  if (!found) throw_errno(EIO, name);
  return *std::move(found);
}

std::pair<NodeId, Objects::Node> Objects::find_to_change(NodeId directory,
                                                         const std::string& name) {
  const auto found = lookup(directory, name);
  if (!found) throw_errno(ENOENT, name);
  const std::shared_ptr<void> reference(nullptr, [&](void*) { forget(found->id, 1); });
  return {found->id, nodes_.get(found->id)};
}

/// Best effort: where there is none, a frame that was removed is listed by
/// others until `gc`.
void Objects::put_marker(const std::string& path) {
  tree_->put(path_in(parent_of(path), removal_marker(name_of(path))), {}, {}, {});
}

void Objects::remove_marker(const std::string& path) {
  const ListingPointer known = listings_.known(parent_of(path));
  if (known && !known->has_marker(name_of(path))) return;
  try {
    tree_->remove(path_in(parent_of(path), removal_marker(name_of(path))), {});
  } catch (const std::system_error&) {
    // Then the name is looked at whenever it is listed.
  }
}

/// Runs `change`, by which the frame goes from its name; where that is refused the marker goes.
/// After other errors the frame may have gone: a marker of one that has not costs a look by who
/// lists it.
template <typename Change>
void Objects::with_marker(const std::string& path, const Change& change) {
  put_marker(path);
  try {
    change();
  } catch (const std::system_error& error) {
    if (frame::is_refusal(error.code()) || error.code() == std::errc::file_exists)
      take_marker_back(path);
    throw;
  }
}

/// Not that of another host, which has removed the frame. Best effort, as that is.
void Objects::take_marker_back(const std::string& path) {
  try {
    if (looks_.look_anew(path, true)->kind == Kind::removed) return;
    tree_->remove(path_in(parent_of(path), removal_marker(name_of(path))), {});
    forget_listing_of(path);
  } catch (const std::system_error&) {
    // Then the name is looked at whenever it is listed.
  }
}

void Objects::remove_frame(const std::string& path) {
  with_marker(path, [&] {
    for (const std::string& chunk : frame::remove_shared_frame(*frames_, path))
      remove_later_(chunk);
  });
  looks_.forget(path);
  forget_listing_of(path);
}

/// So that nothing is left, or comes later, that nobody knows of.
void Objects::remove_sent(NodeId id, const std::function<void(NodeId)>& commit) {
  try {
    commit(id);
  } catch (const std::system_error& error) {
    // Other errors say that the store has taken nothing.
    if (frame::is_one_of(error.code(),
                         {std::errc::io_error, std::errc::timed_out,
                          std::errc::resource_unavailable_try_again, std::errc(ESTALE)}))
      throw;
  }
  try {
    remove_frame(nodes_.get(id).path);
  } catch (const std::system_error& error) {
    if (!is_absent(error)) throw;
  }
}

std::shared_ptr<const OpenContainer> Objects::remove_file(
    NodeId directory, const std::string& name, const std::function<void(NodeId)>& commit) {
  writable_directory(directory);
  const auto [id, found] = find_to_change(directory, name);
  if (found.look->is_directory()) throw_errno(EISDIR, name);
  TurnAtNeed::need_no_more();
  if (found.is_new) {
    if (nodes_.take_unsent_names(id)) return found.open_file.lock();
    remove_sent(id, commit);
  } else if (found.look->kind == Kind::sframe) {
    remove_frame(found.path);
  } else {
    tree_->remove(found.path, {});
    looks_.forget(found.path);
    forget_listing_of(found.path);
  }
  nodes_.take_names(id);
  return found.open_file.lock();
}

void Objects::remove_directory(NodeId directory, const std::string& name) {
  writable_directory(directory);
  const auto [id, found] = find_to_change(directory, name);
  if (!found.look->is_directory()) throw_errno(ENOTDIR, name);
  if (found.look->is_store()) throw_errno(EROFS, name);
  listings_.forget(found.path);
  std::vector<DirectoryEntry> entries = list(id, [] {});
  if (!entries.empty()) throw_errno(ENOTEMPTY, name);
  TurnAtNeed::need_no_more();
  put_marker(found.path);
  try {
    tree_->remove(found.path + "/", {});
  } catch (const std::system_error& error) {
    if (!is_absent(error)) throw;
  }
  looks_.forget(found.path);
  listings_.forget(found.path);
  forget_listing_of(found.path);
}

std::shared_ptr<const OpenContainer> Objects::rename(NodeId from, const std::string& from_name,
                                                     NodeId to, const std::string& to_name,
                                                     bool may_replace) {
  writable_directory(from);
  const Node target_directory = writable_directory(to);
  const auto [id, found] = find_to_change(from, from_name);
  if (found.look->is_directory()) throw_errno(EXDEV, from_name);
  if (found.look->kind != Kind::sframe || found.is_new) throw_errno(EXDEV, from_name);
  const bool is_array = found.look->shown == ShownAs::array;
  std::string full_name = to_name + std::string(kFlatSuffix);
  if (is_array) {
    // Of another name it would be another file: its bytes are copied then.
    if (!to_name.ends_with(kNpySuffix)) throw_errno(EXDEV, to_name);
    full_name = to_name.substr(0, to_name.size() - kNpySuffix.size()) + std::string(kArraySuffix);
  }
  require_name(to_name, full_name);
  std::string replaced;
  std::shared_ptr<void> replaced_node;
  std::shared_ptr<const OpenContainer> replaced_file;
  NodeId replaced_id = 0;
  if (const auto present = lookup(to, to_name)) {
    replaced_id = present->id;
    replaced_node = {nullptr, [this, replaced_id](void*) { forget(replaced_id, 1); }};
    const Node old = nodes_.get(replaced_id);
    if (replaced_id == id) return nullptr;
    if (!may_replace) throw_errno(EEXIST, to_name);
    if (old.look->is_directory()) throw_errno(EISDIR, to_name);
    // Two representations would be two names for a moment, and one of them
    // ours.
    if (old.is_new || old.look->kind != Kind::sframe) throw_errno(EXDEV, to_name);
    if (name_of(old.path) != full_name) replaced = old.path;
    replaced_file = old.open_file.lock();
  }
  TurnAtNeed::need_no_more();
  const std::string path = path_in(target_directory.path, full_name);
  with_marker(found.path, [&, &from_path = found.path] {
    for (const std::string& chunk :
         frame::rename_shared_frame(*frames_, from_path, path, may_replace))
      remove_later_(chunk);
  });
  if (!replaced.empty()) remove_frame(replaced);
  // Who has it open goes on with it, as with a file that was removed.
  if (replaced_id != 0) nodes_.take_names(replaced_id);
  looks_.forget(found.path);
  looks_.forget(path);
  forget_listing_of(found.path);
  forget_listing_of(path);
  remove_marker(path);
  nodes_.renamed(id, path, to, to_name, looks_.look(path, {true, std::nullopt, {}}));
  return replaced_file;
}

// --- attributes

bool Objects::is_directory(NodeId id) const {
  const Node found = nodes_.get(id);
  return !found.part && found.look->kind == Kind::directory;
}

frame::FileAttributes Objects::frame_attributes(NodeId id) {
  const Node found = nodes_.get(id);
  return found.is_new ? found.owner : frames_->attributes(found.path);
}

void Objects::set_attributes(NodeId id, const frame::FileAttributes& attributes) {
  require_changeable(id);
  const Node found = nodes_.set_owner_if_new(id, attributes);
  if (found.is_removed) return;
  if (found.is_new) return frames_->set_owner(found.path, attributes);
  TurnAtNeed::need_no_more();
  frames_->set_attributes(found.path, attributes);
  looks_.forget(found.path);
  nodes_.rekey(id, looks_.look(found.path, {true, std::nullopt, {}}));
}

// --- states

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
