// What is told and read of nodes in a tree of objects.

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <variant>

#include <xxhash.h>

#include "frame/open/open.hpp"
#include "frame/store/object_index.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/objects/objects.hpp"
#include "fs/support/turns.hpp"
#include "fs/view/attributes.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;
using Kind = ObjectLook::Kind;

}  // namespace

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
