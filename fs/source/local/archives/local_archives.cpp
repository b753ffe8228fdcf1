#include "fs/source/local/archives/local_archives.hpp"

#include <cerrno>
#include <utility>

#include <fmt/core.h>

#include "frame/pystore/store_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

constexpr const char* kSystemPrefix = "system.";

std::string group_of(const std::string& key) {
  const std::size_t slash = key.rfind('/');
  return slash == 0 ? "/" : key.substr(0, slash);
}

}  // namespace

std::shared_ptr<const ArchivePart> LocalArchives::part(NodeId node) {
  auto known = tree_.part(node);
  if (!known || !known->embed || !known->entry.is_group()) return known;
  const SourcePath path = join_path(tree_.path(known->root), known->entry.key.substr(1));
  const auto st = root_.stat(path);
  if (!st || !S_ISDIR(st->st_mode)) return known;
  part(tree_.parent(node));  // first the groups above become directories
  tree_.become_directory(node, *st);
  return nullptr;
}

std::shared_ptr<const Archive> LocalArchives::archive_of(Request& request, NodeId root) {
  std::optional<SourceEntry> entry;
  ArchiveState state{root, 0, 0};
  if (tree_.is_virtual(root)) {
    entry = tree_.store_entry(request, root);
    const FileState now = state_of(entry->content_stat);
    state = {root, now.stamp.inode, now.ctime_ns};
  }
  if (auto known = recent_.find(state)) return known;
  request.need_slot();
  const SourcePath path = tree_.store_path(root);
  if (!entry) entry = tree_.store_entry(request, root);
  auto opened = entry->is_store() ? tree_.classifier().open_archive(
                                        path, *entry, recent_.charge_for(request, path.text()))
                                  : nullptr;
  if (!opened) throw_errno(ESTALE, path.text());
  for (const std::string& message : opened->messages())
    log::warn(request.user(), fmt::format("{}: {}", path.text(), message));
  // Pins the archive's file, which has the attributes of everything in the archive.
  return recent_.keep(state, tree_.pinning(root, std::move(opened)));
}

/// Returns the group of a node for which answers_for() is true.
LocalArchives::Group LocalArchives::group_in_archive(Request& request, NodeId node) {
  const auto part = tree_.part(node);
  if (!part) return {archive_of(request, node), "/", node, nullptr};
  if (!part->entry.is_group()) throw_errno(ENOTDIR, part->entry.key);
  if (!part->embed) return {part->archive, part->entry.key, part->root, nullptr};
  // An embedded group shows what embed.b2e holds now.
  auto found = embedded_.embedded(request, {part->root, tree_.path(part->root), part->entry.key});
  if (!found.archive) throw_stale(node);
  return {std::move(found.archive), part->entry.key, part->root, std::move(found.status)};
}

std::optional<LocalArchives::Group> LocalArchives::group(Request& request, NodeId node) {
  if (answers_for(node)) {
    const auto part = tree_.part(node);
    if (part && !part->entry.is_group()) return std::nullopt;
    request.need_slot();
    return group_in_archive(request, node);
  }
  const auto place = tree_.store_place(node);
  auto store = place ? embedded_.open_whole(request, *place) : nullptr;
  if (!store) return std::nullopt;
  return Group{std::move(store), place->group, place->root, nullptr};
}

// --- names

std::optional<FoundNode> LocalArchives::lookup(Request& request, NodeId directory,
                                               const std::string& name) {
  if (!answers_for(directory)) return tree_.lookup(request, directory, name);
  const Group in = group_in_archive(request, directory);
  request.need_slot();
  auto entry = find_shown(request, *in.archive, in.key, name);
  if (!entry) return std::nullopt;
  const NodeId id =
      tree_.enter_part(directory, std::make_shared<const ArchivePart>(ArchivePart{
                                      in.archive, in.root, *std::move(entry), in.embed}));
  try {
    return FoundNode{id, attributes(request, id)};
  } catch (...) {
    tree_.forget(id, 1);
    throw;
  }
}

std::optional<std::vector<DirectoryEntry>> LocalArchives::list(
    Request& request, NodeId directory, const OnManyEntries& on_many_entries) {
  if (!answers_for(directory)) return tree_.list(request, directory, on_many_entries);
  const Group in = group_in_archive(request, directory);
  // How many entries an archive has is known only after listing it.
  if (!on_many_entries()) return std::nullopt;
  const struct stat file = in.embed ? *in.embed : tree_.attributes(request, in.root);
  const auto charge = recent_.charge_for(request, tree_.store_path(in.root).text() + ":" + in.key);
  return list_shown(request, *in.archive, in.key, *charge,
                    [&](const ArchiveEntry& entry) { return inode_in_archive(file, entry); });
}

/// Returns no attributes for an entry of an archive, or for an embedded entry. Finding them takes
/// work, which is done when the kernel asks for them.
std::optional<FoundNode> LocalArchives::enter(Request& request, NodeId directory,
                                              const DirectoryEntry& entry) {
  if (entry.is_embedded || answers_for(directory)) return FoundNode{};
  return tree_.lookup(request, directory, entry.shown_name, &entry.full_name);
}

void LocalArchives::require_listed(Request& request, NodeId directory) {
  if (answers_for(directory))
    require_complete(*group_in_archive(request, directory).archive, "listing");
  else if (const auto group = tree_.store_place(directory))
    embedded_.require_complete(request, *group, "listing");
}

// --- attributes

struct stat LocalArchives::attributes(Request& request, NodeId node) {
  auto found = part(node);
  return found ? attributes_of(request, node, std::move(found)) : tree_.attributes(request, node);
}

/// Returns attributes with the owner, times and permissions of the archive's file, but without
/// write permission.
struct stat LocalArchives::attributes_of(Request& request, NodeId node,
                                         std::shared_ptr<const ArchivePart> part) {
  if (std::shared_ptr<const ArchivePart> with_size = measured(request, *part, raw_)) {
    tree_.replace_part(node, *part, with_size);
    part = std::move(with_size);
  }
  if (part->embed) return embedded_.attributes(request, *part);
  const struct stat file = tree_.attributes(request, part->root);
  struct stat st = part->entry.is_group() ? file : status_of(*part, file, 0444);
  st.st_mode &= ~mode_t{S_ISLNK(st.st_mode) ? 0u : 0222u};
  st.st_ino = inode_in_archive(file, part->entry);
  return st;
}

std::string LocalArchives::read_link(Request& request, NodeId node) {
  const auto part = tree_.part(node);
  if (!part) return tree_.read_link(request, node);
  if (part->entry.type != S_IFLNK) throw_errno(EINVAL, part->entry.key);
  if (!part->archive) throw_stale(node);
  return part->archive->link_text(part->entry);
}

std::string LocalArchives::display_path(NodeId node) const {
  const auto part = tree_.part(node);
  return part ? tree_.display_path(part->root) + ":" + part->entry.key : tree_.display_path(node);
}

uid_t LocalArchives::owner(NodeId node) const {
  const auto part = tree_.part(node);
  return tree_.object(part ? part->root : node)->stat().st_uid;
}

bool LocalArchives::is_over_network(NodeId node) {
  return tree_.part(node) || tree_.is_store(node) || tree_.is_in_store(node);
}

std::shared_ptr<const frame::Snapshot> LocalArchives::frame_of(Request& request,
                                                               const ArchivePart& leaf,
                                                               NodeId node) const {
  request.need_slot();
  if (!leaf.archive) throw_stale(node);
  if (leaf.entry.type != S_IFREG) return nullptr;
  if (const auto known = tree_.opened_as<OpenContainer>(node)) return known->content->snapshot();
  return leaf.archive->open(leaf.entry);
}

std::optional<std::string> LocalArchives::access_list(NodeId node, const std::string& name) {
  const auto part = tree_.part(node);
  if (!part || !name.starts_with(kSystemPrefix)) return std::nullopt;
  if (part->embed) {
    const SourcePath root = tree_.path(part->root);
    return root_
        .object(part->entry.is_group() ? root : join_path(root, std::string(frame::kEmbedName)))
        .attribute(name);
  }
  if (part->entry.is_group()) return std::nullopt;
  return tree_.object(part->root)->attribute(name);
}

// --- opening

/// Returns the node's part, moved on to the present state of embed.b2e if necessary. ESTALE if that
/// is not possible.
std::shared_ptr<const ArchivePart> LocalArchives::leaf_to_open(Request& request, NodeId node) {
  auto part = tree_.part(node);
  if (!part) throw_stale(node);
  if (!part->embed || part->entry.is_group()) return part;
  const StorePlace place{part->root, tree_.path(part->root), group_of(part->entry.key)};
  auto found = embedded_.embedded(request, place);
  if (found.archive && found.archive == part->archive) return part;
  auto entry = found.archive ? found.archive->find(request, place.group, part->entry.full_name)
                             : std::nullopt;
  if (!entry || entry->is_group()) throw_errno(ESTALE, part->entry.key);
  auto present = std::make_shared<const ArchivePart>(ArchivePart{
      std::move(found.archive), part->root, *std::move(entry), std::move(found.status)});
  // Fails for a node that was opened: handles and the kernel's cached pages belong to one state.
  if (tree_.replace_part(node, *part, present)) return present;
  if (tree_.part(node) != part) return leaf_to_open(request, node);  // another thread came first
  throw_errno(ESTALE, part->entry.key);
}

std::shared_ptr<const OpenContainer> LocalArchives::open(Request& request, NodeId node,
                                                         const ContentServices& services) {
  const auto part = leaf_to_open(request, node);
  if (part->entry.type != S_IFREG)
    throw_errno(part->entry.is_group() ? EISDIR : ELOOP, part->entry.key);
  const struct stat shown = attributes_of(request, node, part);
  if (auto known = tree_.opened_as<OpenContainer>(node)) return known;
  request.need_slot();
  return tree_.share_opened(
      node,
      std::make_shared<const OpenContainer>(
          shown, std::make_shared<Content>(request, services, part->archive->open(part->entry))));
}

}  // namespace bloscfs::fs
