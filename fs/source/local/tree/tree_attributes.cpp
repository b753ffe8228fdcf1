// What stat shows of a node: the source file's attributes, and over them those of a content that
// has not been committed.

#include <cerrno>
#include <system_error>

#include "fs/source/local/tree/tree.hpp"
#include "fs/support/lock_breaks.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

/// Whoever may read the file may search it.
mode_t directory_mode(mode_t file_mode) {
  return S_IFDIR | (file_mode & 0666) | ((file_mode & 0444) >> 2);
}

}  // namespace

struct stat Tree::attributes(NodeId id) {
  if (is_virtual(id)) return single_root_attributes();
  StoredAttributes stored = look_at_attributes(id);
  if (stored.is_outdated && follower_) {
    follower_(id);
    stored = look_at_attributes(id);
  }
  return with_live(stored, id);
}

Tree::StoredAttributes Tree::look_at_attributes(NodeId id) {
  return Attempts::run([&] {
    const ReadNames names(names_);
    return stored_attributes(known(id));
  });
}

Tree::StoredAttributes Tree::stored_attributes(const Known& known) {
  try {
    const SourceEntry entry = entry_of(known);
    const struct stat st = with_shown_change(attributes_of(entry), known.shown_change);
    return {known.paths.empty() ? st : with_link_size(st, entry, known.paths.front().text()),
            entry.is_outdated, entry.is_led || known.open_file};
  } catch (const std::system_error& error) {
    // Whoever has the old state open keeps seeing it.
    if (error.code() != std::errc(ESTALE) || !known.open_file) throw;
    return {known.open_file->attributes, false, true};
  }
}

struct stat Tree::attributes_of(const SourceEntry& entry) const {
  struct stat st = entry.content_stat;
  if (entry.is_container()) {
    st.st_ino = entry.own_stat.st_ino;
    st.st_size = entry.shown_size;
    if (entry.is_sframe()) st.st_blocks = (entry.stored_size + kStatBlock - 1) / kStatBlock;
  }
  if (entry.is_store()) st.st_mode = directory_mode(st.st_mode);
  return owned(st);
}

struct stat Tree::with_live(StoredAttributes stored, NodeId id) {
  struct stat st = stored.st;
  auto file = opened_as<OpenContainer>(id);
  if (!file && stored.is_led) {
    // A content that is gone by now may have been at its last commit when the attributes were read.
    st = look_at_attributes(id).st;
    file = opened_as<OpenContainer>(id);
  }
  if (!file) return st;
  // An orphan is never committed: its content alone has its size and times.
  const bool counts = !has_name(id) || file->content->hides_file();
  const LogicalAttributes live = file->content->attributes();
  if (!counts) {
    // The attributes may be from the midst of a commit, before that gave the file its time back.
    if (!live.modified || nanoseconds(*live.modified) == nanoseconds(st.st_mtim)) return st;
    return look_at_attributes(id).st;
  }
  st.st_size = live.size;
  st.st_blocks =
      std::max<blkcnt_t>(st.st_blocks, (live.waiting_data + kStatBlock - 1) / kStatBlock);
  st.st_atim = live.accessed.value_or(st.st_atim);
  st.st_mtim = live.modified.value_or(st.st_mtim);
  st.st_ctim = live.changed.value_or(st.st_ctim);
  return st;
}

struct stat Tree::with_shown_change(struct stat st, const ShownChange& change) {
  if (change.shown_ns != 0 && nanoseconds(st.st_ctim) == change.stored_ns)
    st.st_ctim = time_of(change.shown_ns);
  return st;
}

struct stat Tree::owned(struct stat st) const {
  if (owner_.uid) st.st_uid = *owner_.uid;
  if (owner_.gid) st.st_gid = *owner_.gid;
  return st;
}

struct stat Tree::single_root_attributes() {
  struct stat st {};
  st.st_nlink = 2;
  st.st_ino = kRootId;
  st.st_mode = S_IFDIR | 0755;
  const auto entry = Attempts::run([&] {
    const ReadNames names(names_);
    return look(single().value());
  });
  if (entry) {
    const struct stat file = attributes_of(*entry);
    if (entry->is_store()) st.st_mode = file.st_mode;
    st.st_uid = file.st_uid;
    st.st_gid = file.st_gid;
    st.st_atim = file.st_atim;
    st.st_mtim = file.st_mtim;
    st.st_ctim = file.st_ctim;
  }
  return st;
}

}  // namespace bloscfs::fs
