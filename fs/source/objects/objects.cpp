#include "fs/source/objects/objects.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include "frame/header/sframe_format.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/support/relative_path.hpp"
#include "fs/support/timestamps.hpp"
#include "fs/support/turns.hpp"

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

}  // namespace bloscfs::fs
