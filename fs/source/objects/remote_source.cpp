#include "fs/source/objects/remote_source.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

#include "frame/open/open.hpp"
#include "frame/store/object_index.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/container_handle.hpp"
#include "fs/source/objects/object_handle.hpp"
#include "fs/support/relative_path.hpp"
#include "fs/support/timestamps.hpp"
#include "fs/view/attributes.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;
using Kind = ObjectLook::Kind;

/// How long chunks stay after their frame has stopped using them, for readers on other hosts.
constexpr std::chrono::minutes kReadersHave{10};

/// Uploads may use 1/kUploadPart of the budget, at most kMostUploads bytes, and three quarters of
/// the connections. Readers need the rest.
constexpr std::size_t kUploadPart = 8, kMostUploads = std::size_t{32} << 20;

frame::UploadSettings uploads_of(const MountOptions& options, MemoryBudget& budget) {
  frame::UploadSettings uploads;
  uploads.at_once = std::max(1U, options.remote.connections * 3 / 4);
  uploads.bytes = std::min(options.cache_size / kUploadPart, kMostUploads);
  uploads.take_memory = [&budget](std::size_t bytes) {
    return std::make_shared<MemoryBudget::Part>(budget, bytes);
  };
  return uploads;
}

ObjectNode root_node() {
  ObjectNode root;
  ObjectLook look;
  look.kind = Kind::directory;
  root.look = std::make_shared<const ObjectLook>(std::move(look));
  root.references = 1;
  return root;
}

std::string group_of(const ObjectNode& node) { return node.part ? node.part->entry.key : "/"; }

/// Returns where the extended attributes of the node come from.
AttributeFacts::Of has_attributes_of(const ObjectNode& node) {
  if (node.is_in_archive() && node.is_directory()) return AttributeFacts::Of::group;
  const bool is_frame = node.part ? node.part->entry.type == S_IFREG : node.look->is_container();
  return is_frame ? AttributeFacts::Of::container : AttributeFacts::Of::nothing;
}

}  // namespace

RemoteSource::RemoteSource(const SourceServices& services,
                           const std::shared_ptr<frame::ObjectTree>& tree,
                           const MountOptions& options)
    : services_(services),
      writable_(tree->is_writable() && !options.read_only),
      connections_(options.remote.connections),
      owner_(options.owner),
      began_(now()),
      later_(tree, kReadersHave, services.content.clock),
      objects_(tree, {{options.raw, options.stores}, options.remote.revalidate},
               services.content.cache.budget(), later_,
               uploads_of(options, services.content.cache.budget()), options.remote.connections,
               services.content.clock,
               [this](const std::string& path) {
                 const auto known = leading(path);
                 return known ? known->second : nullptr;
               }),
      nodes_(root_node()),
      archives_(services.content.cache.budget(), kRecentArchives),
      homes_{objects_,
             nodes_,
             services.kernel,
             services.content.options.suffix,
             services.content.raw,
             options.remote.disk_cache} {
  Request request;
  objects_.require_shown(request);
  make_root_of_store(request);
}

/// If SOURCE itself is a store, the root of the mount is the root of its tree.
void RemoteSource::make_root_of_store(Request& request) {
  const auto& name = objects_.tree().single();
  const LookPointer known = name ? objects_.looks().known(*name) : nullptr;
  if (!known || !known->is_store()) return;
  nodes_.change(kRootId, [&](Node& root) { root.path = *name; });
  nodes_.rekey(kRootId, known);
  follow_root(request, kRootId);
}

/// If the root is a store of python-blosc2, makes it show the present state of the object store.
/// Throws ESTALE if the object is no longer a store.
void RemoteSource::follow_root(Request& request, NodeId id) {
  if (id != kRootId) return;
  const Node root = nodes_.get(id);
  if (!root.is_in_archive()) return;
  const LookPointer look = objects_.looks().look(request, root.path, !root.look->is_object());
  if (!look->is_store()) throw_errno(ESTALE, root.path);
  if (look != root.look) nodes_.rekey(id, look);
}

Committer::Services RemoteSource::committing() {
  Committer::Services committing;
  // Commits share no flush here, and a committing thread mostly waits for the network. Therefore
  // use many threads.
  committing.batch = committing.threads = connections_;
  committing.worth_thread = 1;
  return committing;
}

// --- names

RemoteSource::Node RemoteSource::directory(NodeId id) const {
  Node found = nodes_.get(id);
  if (!found.is_directory()) throw_errno(ENOTDIR, found.path);
  return found;
}

/// Returns the node to which the caller has just counted a reference. Drops that reference if the
/// attributes cannot be had.
FoundNode RemoteSource::referred(Request& request, NodeId id) {
  try {
    FoundNode node{id, attributes(request, id)};
    node.is_cacheable = objects_.looks().settings().revalidate != std::chrono::milliseconds::zero();
    return node;
  } catch (...) {
    forget(id, 1);
    throw;
  }
}

FoundNode RemoteSource::reference(Request& request, NodeId id) {
  nodes_.refer(id);
  return referred(request, id);
}

/// Returns the leading node of the path, if its open file takes precedence over the object store.
/// See Objects::Leading.
std::optional<std::pair<NodeId, LookPointer>> RemoteSource::leading(const std::string& path) const {
  const auto found = nodes_.leading(path);
  if (!found || found->second.is_removed || objects_.frames().is_overtaken(path))
    return std::nullopt;
  const auto file = found->second.open_file.lock();
  if (!file || !file->content->is_authoritative()) return std::nullopt;
  return std::pair(found->first, found->second.look);
}

std::optional<FoundNode> RemoteSource::lookup(Request& request, NodeId id,
                                              const std::string& name) {
  follow_root(request, id);
  const Node in = directory(id);
  if (in.is_in_archive()) return lookup_in_archive(request, id, in, name);
  // A new file has no object yet, so only its node can be found.
  const auto made = nodes_.leading(path_in(in.path, name + services_.content.options.suffix));
  if (made && made->second.is_new) return reference(request, made->first);
  auto shown = objects_.find(request, in.path, name);
  if (!shown) return std::nullopt;
  if (shown->is_leading) {
    // Since objects_.find() a commit may have changed the look, or the node may have stopped
    // leading.
    const auto known = leading(shown->path);
    return known ? reference(request, known->first) : lookup(request, id, name);
  }
  Node node;
  node.parent = id;
  node.path = std::move(shown->path);
  node.look = std::move(shown->look);
  const auto stored = objects_.frames().own_state(node.path);
  return referred(request, nodes_.enter(std::move(node), stored));
}

std::optional<FoundNode> RemoteSource::lookup_in_archive(Request& request, NodeId parent,
                                                         const Node& in, const std::string& name) {
  auto archive = archive_of(request, in);
  request.need_slot();
  auto entry = find_shown(request, *archive, group_of(in), name);
  if (!entry) return std::nullopt;
  Node node;
  node.parent = parent;
  node.path = in.path;
  node.look = in.look;
  node.part = std::make_shared<const ArchivePart>(
      ArchivePart{std::move(archive), 0, *std::move(entry), nullptr});
  return referred(request, nodes_.enter(std::move(node), std::nullopt));
}

std::optional<std::vector<DirectoryEntry>> RemoteSource::list(
    Request& request, NodeId id, const OnManyEntries& on_many_entries) {
  follow_root(request, id);
  const Node in = directory(id);
  const std::string url = objects_.tree().url(in.path);
  if (in.is_in_archive()) {
    const auto archive = archive_of(request, in);
    if (!on_many_entries()) return std::nullopt;
    const auto charge = archives_.charge_for(request, url + ":" + group_of(in));
    return list_shown(request, *archive, group_of(in), *charge,
                      [&](const ArchiveEntry& entry) { return inode_of(in, entry); });
  }
  const auto charge = archives_.charge_for(request, url);
  auto entries = objects_.list(request, in.path, *charge, on_many_entries);
  if (!entries) return std::nullopt;
  for (const Node& made : nodes_.new_files_in(in.path)) {
    const bool is_listed = std::any_of(entries->begin(), entries->end(), [&](const auto& entry) {
      return entry.shown_name == made.shown_name;
    });
    if (!is_listed)
      entries->push_back({made.shown_name, name_of(made.path), S_IFREG, inode_of(made)});
  }
  return entries;
}

std::string RemoteSource::read_link(Request&, NodeId id) {
  const Node found = nodes_.get(id);
  if (!found.part || found.part->entry.type != S_IFLNK) throw_errno(EINVAL, found.path);
  return found.part->archive->link_text(found.part->entry);
}

void RemoteSource::require_listed(Request& request, NodeId directory) {
  const Node in = nodes_.get(directory);
  if (in.is_in_archive()) require_complete(*archive_of(request, in), in.path);
}

std::shared_ptr<const Archive> RemoteSource::archive_of(Request& request, const Node& node) {
  if (node.part) return node.part->archive;
  if (auto known = archives_.find(node.look)) return known;
  auto charge = archives_.charge_for(request, objects_.tree().url(node.path));
  return archives_.keep(node.look,
                        objects_.looks().open_archive(request, node.path, *node.look, charge));
}

// --- attributes

ino_t RemoteSource::inode_of(const Node& archive, const ArchiveEntry& entry) const {
  return objects_.inode_of(archive.path + (entry.is_group() ? "/:" : ":") + entry.key);
}

ino_t RemoteSource::inode_of(const Node& node) const {
  if (node.part) return inode_of(node, node.part->entry);
  return node.path.empty() ? kRootId : objects_.inode_of(node.path);
}

struct stat RemoteSource::base_status(const Node& node) const {
  struct stat st {};
  const frame::FileAttributes put =
      node.is_new ? node.owner : frame::attributes_of(node.look->state);
  st.st_uid = owner_.uid.value_or(put.owner);
  st.st_gid = owner_.gid.value_or(put.group);
  st.st_mtim = put.modified.tv_sec == 0 ? began_ : put.modified;
  st.st_atim = st.st_ctim = st.st_mtim;
  st.st_mode = objects_.tree().is_writable() ? put.mode : put.mode & ~mode_t{0222};
  return st;
}

struct stat RemoteSource::status(const Node& node) const {
  struct stat st = base_status(node);
  st.st_ino = inode_of(node);
  st.st_nlink = 1;
  st.st_blksize = 4096;
  if (node.is_directory()) {
    const bool is_fixed = node.is_in_archive() || !objects_.tree().is_writable();
    st.st_mode = S_IFDIR | (is_fixed ? 0555 : 0755);
    st.st_nlink = 2;
    return st;
  }
  if (node.part) return status_of(*node.part, st, 0444);
  st.st_mode |= S_IFREG;
  st.st_size = node.look->size;
  std::int64_t stored = node.look->stored_size;
  const auto file = node.open_file.lock();
  if (file && file->content->is_writable()) {
    const LogicalAttributes live = file->content->attributes();
    st.st_size = live.size;
    stored = std::max(file->content->shown().stored_chunks, live.uncommitted_data_bytes);
    if (live.modified) st.st_mtim = *live.modified;
    if (live.accessed) st.st_atim = *live.accessed;
    st.st_ctim = live.changed.value_or(st.st_mtim);
    if (node.is_removed) st.st_nlink = 0;
  }
  st.st_blocks = (stored + kStatBlock - 1) / kStatBlock;
  return st;
}

struct stat RemoteSource::attributes(Request& request, NodeId id) {
  Node node = nodes_.get(id);
  if (auto sized =
          node.part ? measured(request, *node.part, objects_.looks().settings().raw) : nullptr) {
    node.part = std::move(sized);
    nodes_.change(id, [&](Node& known) { known.part = node.part; });
  }
  return status(node);
}

void RemoteSource::check_access(Request&, NodeId, int mask) {
  if ((mask & W_OK) != 0) require_writable("access");
}

struct statvfs RemoteSource::stat_filesystem() {
  struct statvfs st {};
  st.f_bsize = st.f_frsize = 4096;
  st.f_namemax = NAME_MAX;
  return st;
}

std::string RemoteSource::display_path(NodeId id) {
  const Node node = nodes_.get(id);
  return objects_.tree().url(node.path) + (node.part ? ":" + node.part->entry.key : std::string());
}

AttributeFacts RemoteSource::attribute_facts(Request&, NodeId id) {
  const Node node = nodes_.get(id);
  AttributeFacts facts;
  facts.of = has_attributes_of(node);
  facts.is_read_only = !is_changeable(node);
  return facts;
}

std::optional<std::string> RemoteSource::group_attribute(Request& request, NodeId id,
                                                         const std::string& name) {
  request.need_slot();
  follow_root(request, id);
  const Node node = nodes_.get(id);
  if (has_attributes_of(node) != AttributeFacts::Of::group) return std::nullopt;
  return fs::group_attribute(*archive_of(request, node), group_of(node), name);
}

/// Object stores have no place for extended attributes.
void RemoteSource::set_stored_attribute(Request&, NodeId, const std::string& name,
                                        const std::string*, int) {
  throw_errno(EOPNOTSUPP, name);
}

// --- opening

OpenedFile RemoteSource::open(Request& request, NodeId node, int flags, FairShare::Part) {
  if ((flags & O_ACCMODE) != O_RDONLY) {
    require_writable("open");
    request.need_slot();
    return {open_handle(request, services_.contents, node, open_to_change(request, node), flags),
            false};
  }
  Opened opened = open_state(request, node);
  if (opened.container)
    return {open_handle(request, services_.contents, node, opened.container, flags), false};
  return {std::make_shared<ObjectHandle>(request, services_, node, flags, opened.attributes,
                                         std::move(opened.object), display_path(node)),
          false};
}

std::shared_ptr<const OpenContainer> RemoteSource::open_container(Request& request, NodeId node,
                                                                  bool for_change) {
  if (for_change) return open_to_change(request, node);
  auto file = open_state(request, node).container;
  if (!file) throw_errno(EROFS, display_path(node));
  return file;
}

std::shared_ptr<const OpenContainer> RemoteSource::open_to_change(Request& request, NodeId id) {
  const Node node = require_changeable(id);
  auto file = node.open_file.lock();
  if (file && file->content->is_overtaken()) {
    services_.contents.follow(request, id);
    throw_errno(ESTALE, display_path(id));
  }
  require_present(request, node);
  if (!file) file = open_state(request, id).container;
  // The node leads its path from now on.
  file->content->make_writable(request, home(id));
  nodes_.set_opened(id, file);
  return file;
}

/// Opens the state that the node stands for. Throws ESTALE if the object store has another state,
/// EISDIR for a directory, and ELOOP for a symbolic link.
RemoteSource::Opened RemoteSource::open_state(Request& request, NodeId id) {
  const struct stat shown = attributes(request, id);
  const Node found = nodes_.get(id);
  if (!S_ISREG(shown.st_mode)) throw_errno(S_ISDIR(shown.st_mode) ? EISDIR : ELOOP, found.path);
  auto known = found.open_file.lock();
  // A file with writers or uncommitted changes takes precedence over the object store.
  if (known && known->content->is_authoritative()) return {std::move(known), nullptr, shown};
  ObjectLooks& looks = objects_.looks();
  if (!found.part &&
      !found.look->same_as(*looks.look(request, found.path, !found.look->is_object())))
    throw_errno(ESTALE, found.path);
  if (found.look->kind == Kind::plain)
    return {nullptr, looks.source(request, found.path, *found.look), shown};
  if (known) return {std::move(known), nullptr, shown};
  request.need_slot();
  auto snapshot = found.part ? found.part->archive->open(found.part->entry)
                             : looks.open(request, found.path, *found.look);
  auto opened = std::make_shared<const OpenContainer>(
      shown, std::make_shared<Content>(request, services_.content, std::move(snapshot)));
  // Another thread may have opened the file first.
  const auto other = nodes_.change(id, [&](Node& node) {
    auto first = node.open_file.lock();
    if (!first) node.open_file = opened;
    return first;
  });
  return {other ? other : opened, nullptr, shown};
}

std::shared_ptr<const frame::Snapshot> RemoteSource::frame_of(Request& request, NodeId id) {
  request.need_slot();
  follow_root(request, id);
  const Node found = nodes_.get(id);
  switch (has_attributes_of(found)) {
    case AttributeFacts::Of::group:
      return archive_of(request, found)->frame_of(group_of(found));
    case AttributeFacts::Of::nothing:
      return nullptr;
    case AttributeFacts::Of::container:
      break;
  }
  if (const auto known = found.open_file.lock()) return known->content->snapshot();
  return found.part ? found.part->archive->open(found.part->entry)
                    : objects_.looks().open(request, found.path, *found.look);
}

StoredForm RemoteSource::stored_form(Request& request, NodeId id) {
  StoredForm form;
  form.frame = frame_of(request, id);
  form.may_lack_contents = form.frame != nullptr;
  const Node found = nodes_.get(id);
  if (found.part) return form;
  form.bytes = found.look->stored_size;
  // Throws the error because of which the file is shown as it is.
  if (found.look->kind == Kind::plain && form.bytes > 0 &&
      promised_by(found.path) != ShownAs::itself)
    frame::open_file(objects_.looks().source(request, found.path, *found.look), {});
  return form;
}

}  // namespace bloscfs::fs
