#include "fs/source/objects/objects.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <variant>

#include <xxhash.h>

#include "frame/header/sframe_format.hpp"
#include "frame/open/open.hpp"
#include "frame/store/object_index.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/support/relative_path.hpp"
#include "fs/support/timestamps.hpp"
#include "fs/support/turns.hpp"
#include "fs/view/attributes.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;
using Kind = ObjectLook::Kind;

ObjectNode root_node() {
  ObjectNode root;
  ObjectLook look;
  look.kind = Kind::directory;
  root.look = std::make_shared<const ObjectLook>(std::move(look));
  root.references = 1;
  return root;
}

}  // namespace

Objects::Objects(std::shared_ptr<frame::ObjectTree> tree, const ObjectLooks::Settings& settings,
                 const OwnerOverride& owner, MemoryBudget& budget,
                 frame::ObjectFrames::RemoveLater remove_later, frame::UploadSettings uploads,
                 const frame::Clock& clock)
    : clock_(clock),
      tree_(tree),
      remove_later_(std::move(remove_later)),
      frames_(std::make_shared<frame::ObjectFrames>(tree, frame::kSframeIndexName, remove_later_,
                                                    frame::ObjectFrames::kSafeAge,
                                                    std::move(uploads))),
      budget_(budget),
      owner_(owner),
      began_(now()),
      looks_(
          tree, frames_, settings,
          [this](const std::string& directory, const std::string& name) {
            return listing(directory)->find(name) != nullptr;
          },
          clock),
      listings_(std::move(tree), budget, settings.revalidate, clock),
      nodes_(root_node()),
      archives_(budget) {
  tree_->set_charges([this](const std::string& directory) {
    return std::make_unique<MemoryBudget::Listing>(budget_, tree_->url(directory));
  });
}

Objects::Node Objects::directory(NodeId id) const {
  Node found = nodes_.get(id);
  if (!found.is_directory()) throw_errno(ENOTDIR, found.path);
  return found;
}

/// Counts one reference.
FoundNode Objects::enter(Node node) {
  FoundNode found;
  const auto state = node.part ? std::nullopt : frames_->state(node.path);
  found.id = nodes_.enter(std::move(node), state);
  try {
    found.attributes = attributes(found.id);
  } catch (...) {
    forget(found.id, 1);
    throw;
  }
  found.is_cacheable = looks_.settings().revalidate != std::chrono::milliseconds::zero();
  return found;
}

// --- names

ObjectListing::Judge Objects::judge_in(const std::string& directory) {
  return [this, directory](const frame::ObjectEntry& entry) {
    const auto known = looks_.known(path_in(directory, entry.name));
    if (known && known->kind != Kind::removed && known->is_object() != entry.is_directory)
      return known->shown;
    return promised(entry.name, entry.is_directory, looks_.settings());
  };
}

ListingPointer Objects::listing(const std::string& directory) {
  return listings_.get(directory, judge_in(directory),
                       [this, directory](const frame::ObjectEntry& entry) {
                         return has_gone(path_in(directory, entry.name), entry.is_directory);
                       });
}

std::optional<Objects::Node> Objects::look_at(NodeId parent, const Node& directory,
                                              const frame::ObjectEntry& entry,
                                              const ObjectListing& listing) {
  Node found;
  found.parent = parent;
  found.path = path_in(directory.path, entry.name);
  if (auto leading = find_leading(found.path)) return leading;
  try {
    const ObjectLooks::Listed listed{entry.is_directory, entry.state, listing.begun()};
    found.look = looks_.look(found.path, listed);
    // A commit of this mount has come since that look.
    const auto stored = frames_->state(found.path);
    if (stored && !stored->same_bytes(found.look->state)) {
      looks_.forget(found.path);
      found.look = looks_.look(found.path, {entry.is_directory, std::nullopt, {}});
    }
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) return std::nullopt;
    throw;
  }
  if (found.look->kind == Kind::removed) return std::nullopt;
  return found;
}

/// By the name that the listing shows; by that which the bytes give; by its
/// full name where the bytes promise less than that.
std::optional<Objects::Node> Objects::find_in(NodeId parent, const Node& directory,
                                              const std::string& name,
                                              const ObjectListing& listing) {
  if (const auto* const entry = listing.find_shown(name))
    return look_at(parent, directory, *entry, listing);
  for (const std::string& full_name : possible_full_names(name)) {
    const auto* const entry = listing.find(full_name);
    if (entry == nullptr) continue;
    auto found = look_at(parent, directory, *entry, listing);
    if (found && preferred_name(full_name, found->look->shown) == name) return found;
  }
  const auto* const entry = listing.find(name);
  if (entry == nullptr) return std::nullopt;
  auto found = look_at(parent, directory, *entry, listing);
  return found && found->look->shown == ShownAs::itself ? found : std::nullopt;
}

std::optional<FoundNode> Objects::lookup(NodeId id, const std::string& name) {
  const Node in = directory(id);
  if (is_in_archive(in)) return lookup_in_archive(id, in, name);
  if (tree_->single()) {
    auto found = find_in(id, in, name, *single_listing());
    return found ? std::optional(enter(*std::move(found))) : std::nullopt;
  }
  if (auto made = find_new(in.path, name)) return made;
  // A name that is known is asked for itself, so that its listing may be old.
  ListingPointer known = listings_.known(in.path);
  if (!known) known = listing(in.path);
  auto found = find_in(id, in, name, *known);
  if (found && !may_have_gone(*found)) return enter(*std::move(found));
  const ListingPointer present = listing(in.path);
  if (present != known) found = find_in(id, in, name, *present);
  return found ? std::optional(enter(*std::move(found))) : std::nullopt;
}

ListingPointer Objects::single_listing() {
  const std::string& name = *tree_->single();
  frame::ObjectEntry entry{name, false, std::nullopt};
  const auto known = looks_.known(name);
  entry.is_directory = known && !known->is_object();
  return std::make_shared<const ObjectListing>(
      std::vector{entry}, judge_in(""), nullptr, clock_.now(), frame::Clock::Duration::zero(),
      std::make_unique<MemoryBudget::Listing>(budget_, tree_->url(name)));
}

/// Null where there is none: a web server shows no directory where a single object was named.
LookPointer Objects::look_at_directory(const std::string& name) {
  try {
    return looks_.look(name, {true, std::nullopt, {}});
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory &&
        error.code() != std::errc::not_a_directory)
      throw;
    return nullptr;
  }
}

/// Of a single object nobody has told what it is.
void Objects::require_shown() {
  if (!tree_->single()) return static_cast<void>(listing(""));
  const std::string& name = *tree_->single();
  LookPointer look;
  try {
    look = looks_.look(name, {false, std::nullopt, {}});
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
    look = look_at_directory(name);
    if (!look || (!look->is_container() && !look->is_store())) throw;
  }
  if (look->kind == Kind::plain)
    throw std::invalid_argument("no Blosc2 frame, Bloscpack file or store");
}

mode_t Objects::guessed_type(const std::string& path, const frame::ObjectEntry& entry) {
  const auto known = looks_.known(path);
  if (known && known->is_object() != entry.is_directory)
    return known->is_directory() ? S_IFDIR : S_IFREG;
  const ShownAs shown = promised(entry.name, entry.is_directory, looks_.settings());
  if (shown == ShownAs::store) return S_IFDIR;
  return entry.is_directory && shown == ShownAs::itself ? S_IFDIR : S_IFREG;
}

std::vector<DirectoryEntry> Objects::list(NodeId id, const std::function<void()>& if_many) {
  const Node in = directory(id);
  std::vector<DirectoryEntry> entries;
  if (is_in_archive(in)) {
    const auto archive = archive_of(in);
    if_many();
    const std::string group = in.part ? in.part->entry.key : "/";
    const auto charge = archives_.charge_for(tree_->url(in.path) + ":" + group);
    return list_shown(*archive, group, *charge,
                      [&](const ArchiveEntry& entry) { return inode_of(in.path, entry); });
  }
  const ListingPointer found = tree_->single() ? single_listing() : listing(in.path);
  if_many();
  const auto charge = archives_.charge_for(tree_->url(in.path));
  charge->take(found->entries().size() * sizeof(DirectoryEntry));
  entries.reserve(found->entries().size());
  for (std::size_t i = 0; i < found->entries().size(); i++) {
    const frame::ObjectEntry& entry = found->entries()[i];
    charge->take(2 * frame::heap_size(entry.name.size()));
    const std::string path = path_in(in.path, entry.name);
    // Others may have put no marker beside it, or it was lost.
    if (const auto look = looks_.known(path);
        look && look->kind == Kind::removed && has_gone(path, entry.is_directory))
      continue;
    entries.push_back({found->shown()[i], entry.name, guessed_type(path, entry), inode_of(path)});
  }
  add_new(in.path, entries);
  return entries;
}

FoundNode Objects::reference(NodeId id) {
  nodes_.refer(id);
  try {
    return {id, attributes(id)};
  } catch (...) {
    forget(id, 1);
    throw;
  }
}

// --- stores

std::shared_ptr<const Archive> Objects::archive_of(const Node& node) {
  if (node.part) return node.part->archive;
  if (auto known = archives_.find(node.look)) return known;
  return archives_.keep(
      node.look,
      looks_.open_archive(node.path, *node.look, archives_.charge_for(tree_->url(node.path))));
}

std::optional<FoundNode> Objects::lookup_in_archive(NodeId parent, const Node& in,
                                                    const std::string& name) {
  auto archive = archive_of(in);
  TurnAtNeed::need();
  auto entry = find_shown(*archive, in.part ? in.part->entry.key : "/", name);
  if (!entry) return std::nullopt;
  Node found = in;
  found.parent = parent;
  found.references = 0;
  found.open_file.reset();
  found.part = std::make_shared<const ArchivePart>(
      ArchivePart{std::move(archive), 0, *std::move(entry), nullptr});
  return enter(std::move(found));
}

void Objects::require_listed(NodeId directory) {
  const Node in = nodes_.get(directory);
  if (is_in_archive(in)) require_complete(*archive_of(in), in.path);
}

std::optional<Objects::Group> Objects::group(NodeId id) {
  if (has_attributes_of(id) != AttributeFacts::Of::group) return std::nullopt;
  const Node found = nodes_.get(id);
  return Group{archive_of(found), found.part ? found.part->entry.key : "/"};
}

// --- attributes

ino_t Objects::inode_of(const std::string& path) const {
  const std::string url = tree_->url(path);
  // None that NFS or old programs take for none.
  return static_cast<ino_t>(XXH3_64bits(url.data(), url.size()) | 2);
}

ino_t Objects::inode_of(const Node& node) const {
  if (node.part) return inode_of(node.path, node.part->entry);
  return node.path.empty() ? kRootId : inode_of(node.path);
}

ino_t Objects::inode_of(const std::string& archive, const ArchiveEntry& entry) const {
  return inode_of(archive + (entry.is_group() ? "/:" : ":") + entry.key);
}

struct stat Objects::base_status(const Node& node) const {
  struct stat st {};
  const frame::ObjectState& state = node.look->state;
  const frame::FileAttributes put = node.is_new ? node.owner : frame::attributes_of(state);
  st.st_uid = owner_.uid.value_or(put.owner);
  st.st_gid = owner_.gid.value_or(put.group);
  st.st_mtim = put.modified.tv_sec == 0 ? began_ : put.modified;
  st.st_atim = st.st_ctim = st.st_mtim;
  st.st_mode = tree_->is_writable() ? put.mode : put.mode & ~mode_t{0222};
  return st;
}

struct stat Objects::status(const Node& node) const {
  struct stat st = base_status(node);
  st.st_ino = inode_of(node);
  st.st_nlink = 1;
  st.st_blksize = 4096;
  if (node.is_directory()) {
    st.st_mode = S_IFDIR | (tree_->is_writable() && !node.look->is_store() ? 0755 : 0555);
    st.st_nlink = 2;
    return st;
  }
  if (node.part) return status_of(*node.part, st, 0444);
  st.st_mode |= S_IFREG;
  std::int64_t stored = node.look->stored_size;
  const auto file = node.open_file.lock();
  const bool is_live = file && !node.part && file->content->is_writable();
  if (is_live || (!file && node.last_stored)) {
    const LogicalAttributes live = is_live ? file->content->attributes() : *node.last_stored;
    if (is_live) stored = file->content->shown().stored_chunks;
    st.st_size = live.size;
    stored = std::max(stored, live.waiting_data);
    st.st_blocks = (stored + kStatBlock - 1) / kStatBlock;
    if (live.modified) st.st_mtim = *live.modified;
    if (live.accessed) st.st_atim = *live.accessed;
    st.st_ctim = live.changed.value_or(st.st_mtim);
    if (node.is_removed) st.st_nlink = 0;
    return st;
  }
  st.st_size = node.look->size;
  st.st_blocks = (stored + kStatBlock - 1) / kStatBlock;
  return st;
}

struct stat Objects::attributes(NodeId id) {
  look_if_due(id);
  Node node = nodes_.get(id);
  if (auto with_size = node.part ? measured(*node.part, looks_.settings().raw) : nullptr) {
    node.part = std::move(with_size);
    nodes_.set_part(id, node.part);
  }
  return status(node);
}

std::string Objects::read_link(NodeId id) {
  const Node found = nodes_.get(id);
  if (!found.part || found.part->entry.type != S_IFLNK) throw_errno(EINVAL, found.path);
  return found.part->archive->link_text(found.part->entry);
}

std::string Objects::told(const Node& node) const {
  return tree_->url(node.path) + (node.part ? ":" + node.part->entry.key : std::string());
}

std::string Objects::told_path(NodeId id) { return told(nodes_.get(id)); }

// --- opening

Objects::Opened Objects::open(NodeId id, const ContentServices& services) {
  for (;;) {
    const struct stat shown = attributes(id);
    const Node found = nodes_.get(id);
    try {
      return open_as(id, found, shown, services);
    } catch (const std::system_error& error) {
      if (error.code() != std::errc(ESTALE) || !take_own_state(id, found)) throw;
    }
  }
}

Objects::Opened Objects::open_as(NodeId id, const Node& found, const struct stat& shown,
                                 const ContentServices& services) {
  if (!S_ISREG(shown.st_mode)) throw_errno(S_ISDIR(shown.st_mode) ? EISDIR : ELOOP, found.path);
  // What was opened in the state that is still there is the same.
  const bool is_directory = !found.look->is_object();
  if (auto known = found.open_file.lock(); known && known->content->leads())
    return {std::move(known), nullptr, shown};
  if (looks_.look(found.path, {is_directory, std::nullopt, {}}) != found.look && !found.part)
    throw_errno(ESTALE, found.path);
  if (found.look->kind == Kind::plain)
    return {nullptr, looks_.source(found.path, *found.look), shown};
  if (auto known = found.open_file.lock()) return {std::move(known), nullptr, shown};
  TurnAtNeed::need();
  auto snapshot = found.part ? found.part->archive->open(found.part->entry)
                             : looks_.open(found.path, *found.look);
  auto opened = std::make_shared<const OpenContainer>(
      shown, std::make_shared<Content>(services, std::move(snapshot)));
  return {nodes_.set_opened_once(id, opened), nullptr, shown};
}

std::shared_ptr<const frame::Snapshot> Objects::frame_of(NodeId id) {
  TurnAtNeed::need();
  if (const auto in = group(id)) return in->archive->frame_of(in->group);
  const Node found = nodes_.get(id);
  if (const auto known = found.open_file.lock()) return known->content->snapshot();
  if (found.part)
    return found.part->entry.type == S_IFREG ? found.part->archive->open(found.part->entry)
                                             : nullptr;
  return found.look->is_container() ? looks_.open(found.path, *found.look) : nullptr;
}

AttributeFacts::Of Objects::has_attributes_of(NodeId id) const {
  const Node found = nodes_.get(id);
  if (found.part ? found.part->entry.is_group() : found.look->is_store())
    return AttributeFacts::Of::group;
  const bool is_frame = found.part ? found.part->entry.type == S_IFREG : found.look->is_container();
  return is_frame ? AttributeFacts::Of::container : AttributeFacts::Of::nothing;
}

StoredForm Objects::stored_form(NodeId id) {
  StoredForm form;
  form.frame = frame_of(id);
  form.may_lack_contents = form.frame != nullptr;
  const Node found = nodes_.get(id);
  if (found.part) return form;
  form.bytes = found.look->stored_size;
  // Throws the error that made it a plain file.
  if (found.look->kind == Kind::plain && form.bytes > 0 &&
      promised_by(found.path) != ShownAs::itself)
    frame::open_file(looks_.source(found.path, *found.look), {});
  return form;
}

}  // namespace bloscfs::fs
