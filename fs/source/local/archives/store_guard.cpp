#include "fs/source/local/archives/store_guard.hpp"

#include <cerrno>
#include <cstdio>
#include <sstream>

#include "frame/pystore/store_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/tree/tree_changes.hpp"
#include "fs/source/naming.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

[[noreturn]] void refuse(const std::string& name) {
  throw_errno(EROFS, name + ": embedded in a store, which no mount changes");
}

}  // namespace

std::optional<ArchiveEntry> StoreGuard::find_embedded(Request& request, NodeId directory,
                                                      const StorePlace& place,
                                                      const std::string& name) {
  if (!archives_.part(directory)) return tree_.find_embedded(request, directory, name);
  // A group without a directory in SOURCE holds only embedded entries.
  const auto store = embedded_.embedded(request, place).archive;
  if (!store) return std::nullopt;
  request.need_slot();
  return find_shown(request, *store, place.group, name);
}

/// True for a file whose key is also embedded. If the file went, the old embedded data would appear
/// again.
bool StoreGuard::hides_embedded(Request& request, NodeId directory, const StorePlace& place,
                                const std::string& name) {
  const auto store = embedded_.embedded(request, place).archive;
  if (!store || archives_.part(directory)) return false;
  NamesWork work(request);
  return work.run([&] {
    TreeChanges names(work, tree_, ChangedBy::caller);
    const auto object = names.find(directory, name);
    return object && !object->is_directory() &&
           store->has_leaf(place.key(std::string(frame::leaf_stem(object->full_name))));
  });
}

/// Throws EEXIST if the key of that name is embedded. Also checks the key without ".npy", which the
/// file gets if it becomes an array.
void StoreGuard::require_free_key(Request& request, const StorePlace& place,
                                  const std::string& name) {
  const auto store = embedded_.embedded(request, place).archive;
  if (!store) return;
  const bool is_npy = name.ends_with(kNpySuffix) && name.size() > kNpySuffix.size();
  const std::string stem = is_npy ? name.substr(0, name.size() - kNpySuffix.size()) : name;
  for (const std::string& key : {place.key(name), place.key(stem)})
    if (store->has_leaf(key)) throw_errno(EEXIST, key + ": embedded in the store");
}

void StoreGuard::make_directory_of(Request& request, NodeId directory) {
  if (!archives_.part(directory)) return;
  const auto place = tree_.store_place(directory);
  if (!place) return;
  request.need_slot();
  StorePlace above{place->root, place->root_path, "/"};
  const mode_t mode = root_.directory(place->root_path).stat().st_mode & 0777;
  std::istringstream names_below(place->group.substr(1));
  for (std::string name; std::getline(names_below, name, '/'); above = above.inside(name)) {
    const SourceDirectory in = root_.directory(above.path());
    if (const auto st = in.stat(name); !st) {
      {
        NamesWork work(request);
        TreeChanges names(work, tree_, ChangedBy::caller);
        if (!in.stat(name)) in.make_directory(names.change(), name, mode);
        names.note_change(in.stat());
      }
      in.sync();
    } else if (!S_ISDIR(st->st_mode)) {
      throw_errno(ENOTDIR, name);
    }
  }
  archives_.part(directory);  // makes the node stand for the new directory
}

void StoreGuard::before_making(Request& request, NodeId directory, const std::string& name) {
  if (const auto place = tree_.store_place(directory)) require_free_key(request, *place, name);
  make_directory_of(request, directory);
}

bool StoreGuard::holds_embedded(Request& request, const StorePlace& group, bool with_attributes) {
  const auto store = embedded_.embedded(request, group).archive;
  return store && store->has_below(group.group, with_attributes);
}

void StoreGuard::before_removing(Request& request, NodeId directory, const std::string& name) {
  const auto place = tree_.store_place(directory);
  if (!place) return;
  if (const auto entry = find_embedded(request, directory, *place, name)) {
    if (entry->is_group()) throw_errno(EISDIR, name);
    refuse(name);
  }
  if (hides_embedded(request, directory, *place, name)) refuse(name);
}

void StoreGuard::before_removing_directory(Request& request, NodeId directory,
                                           const std::string& name) {
  const auto place = tree_.store_place(directory);
  if (!place) return;
  const auto entry = find_embedded(request, directory, *place, name);
  if (entry && !entry->is_group()) throw_errno(ENOTDIR, name);
  const StorePlace inside = place->inside(name);
  if (holds_embedded(request, inside, false)) throw_errno(ENOTEMPTY, name);
  // Only attributes of the group are embedded, which the mount cannot remove either.
  if (holds_embedded(request, inside, true)) refuse(name);
}

void StoreGuard::require_movable(Request& request, NodeId directory, const StorePlace& place,
                                 const std::string& name) {
  if (find_embedded(request, directory, place, name) ||
      hides_embedded(request, directory, place, name) ||
      holds_embedded(request, place.inside(name), true))
    refuse(name);
}

void StoreGuard::before_renaming(Request& request, const Rename& rename) {
  if (const auto from = tree_.store_place(rename.from))
    require_movable(request, rename.from, *from, rename.from_name);
  if (const auto to = tree_.store_place(rename.to)) {
    if ((rename.flags & RENAME_NOREPLACE) != 0 &&
        find_embedded(request, rename.to, *to, rename.to_name))
      throw_errno(EEXIST, rename.to_name);
    require_movable(request, rename.to, *to, rename.to_name);
    if ((rename.flags & RENAME_EXCHANGE) == 0) require_free_key(request, *to, rename.to_name);
  }
  make_directory_of(request, rename.to);
}

}  // namespace bloscfs::fs
