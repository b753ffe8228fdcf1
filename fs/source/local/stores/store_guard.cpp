#include "fs/source/local/stores/store_guard.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "frame/pystore/store_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/on_behalf.hpp"
#include "fs/source/local/tree/tree_changes.hpp"
#include "fs/support/lock_breaks.hpp"
#include "fs/support/turns.hpp"
#include "fs/view/naming.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

bool has_leaf(const MountedStore* store, const std::string& key) {
  const auto entry = store == nullptr ? std::nullopt : store->store().find(key);
  return entry && entry->leaf;
}

/// Whether anything is embedded in that group, attributes of groups included.
bool holds_embedded(const MountedStore* store, const std::string& group) {
  if (store == nullptr) return false;
  const frame::EmbedMap& map = store->store().embed_map();
  const std::size_t at = map.lower_bound(group + "/");
  return at < map.size() && map.key(at).starts_with(group + "/");
}

[[noreturn]] void refuse(const std::string& name) {
  throw_errno(EROFS, name + ": embedded in a store, which no mount changes");
}

}  // namespace

void StoreGuard::require_changeable(NodeId node) {
  if (Stores::holds(node)) throw_errno(EROFS, "embedded in a store, which no mount changes");
}

std::optional<StorePlace> StoreGuard::place_of(NodeId directory) {
  if (!Stores::holds(directory)) return tree_.store_place(directory);
  auto group = stores_.embedded(directory);
  if (!group || group->child.leaf) return std::nullopt;
  return StorePlace{group->place.root, std::move(group->place.root_path),
                    std::move(group->child.key)};
}

std::optional<Beside::Entry> StoreGuard::find_beside(NodeId directory, const StorePlace& place,
                                                     const std::string& name) {
  if (!Stores::holds(directory)) return tree_.find_beside(directory, name);
  // Nothing but what is embedded is in such a group.
  std::vector<std::string> full_names = possible_full_names(name);
  full_names.push_back(name);
  for (const std::string& full_name : full_names)
    if (auto entry = stores_.find(place, full_name);
        entry && preferred_name(full_name, entry->shown) == name)
      return entry;
  return std::nullopt;
}

/// True for a file whose key is embedded, too: without the file the old data would appear again.
bool StoreGuard::hides_embedded(NodeId directory, const StorePlace& place,
                                const std::string& name) {
  const auto store = stores_.embedded_of(place);
  if (!store || Stores::holds(directory)) return false;
  return Attempts::run([&] {
    TreeChanges names(tree_);
    const auto object = names.find(directory, name);
    return object && !object->is_directory() &&
           has_leaf(store.get(), place.key(std::string(frame::leaf_stem(object->full_name))));
  });
}

/// A file of that name may become an array, whose key has no ".npy".
void StoreGuard::require_free_key(const StorePlace& place, const std::string& name) {
  const auto store = stores_.embedded_of(place);
  const bool is_npy = name.ends_with(kNpySuffix) && name.size() > kNpySuffix.size();
  const std::string stem = is_npy ? name.substr(0, name.size() - kNpySuffix.size()) : name;
  for (const std::string& key : {place.key(name), place.key(stem)})
    if (has_leaf(store.get(), key)) throw_errno(EEXIST, key + ": embedded in the store");
}

void StoreGuard::make_group(const StorePlace& place, const Caller& caller) {
  StorePlace above{place.root, place.root_path, "/"};
  const mode_t mode = root_.directory(place.root_path).stat().st_mode & 0777;
  for (std::size_t begin = 1; begin < place.group.size();) {
    const std::size_t end = std::min(place.group.find('/', begin), place.group.size());
    const std::string name = place.group.substr(begin, end - begin);
    const SourceDirectory in = root_.directory(above.path());
    if (const auto st = in.stat(name); !st) {
      Attempts::run([&] {
        TreeChanges names(tree_);
        const OnBehalfOf behalf(&caller);
        if (!in.stat(name)) in.make_directory(name, mode);
        names.note_change(in.stat());
      });
      in.sync();
    } else if (!S_ISDIR(st->st_mode)) {
      throw_errno(ENOTDIR, name);
    }
    above = above.inside(name);
    begin = end + 1;
  }
}

NodeId StoreGuard::directory_to_make_in(NodeId directory, const Caller& caller) {
  if (!Stores::holds(directory)) return directory;
  const NodeId present = stores_.present(directory);
  if (present != directory) return present;
  const auto place = place_of(directory);
  if (!place) return directory;
  TurnAtNeed::need();
  make_group(*place, caller);
  return stores_.present(directory);
}

void StoreGuard::before_making(NodeId directory, const std::string& name) {
  if (const auto place = place_of(directory)) require_free_key(*place, name);
}

void StoreGuard::before_removing(NodeId directory, const std::string& name) {
  const auto place = place_of(directory);
  if (!place) return;
  if (const auto entry = find_beside(directory, *place, name)) {
    if (S_ISDIR(entry->type)) throw_errno(EISDIR, name);
    refuse(name);
  }
  if (hides_embedded(directory, *place, name)) refuse(name);
}

void StoreGuard::before_removing_directory(NodeId directory, const std::string& name) {
  const auto place = place_of(directory);
  if (!place) return;
  const auto entry = find_beside(directory, *place, name);
  if (entry && !S_ISDIR(entry->type)) throw_errno(ENOTDIR, name);
  const StorePlace inside = place->inside(name);
  if (stores_.has_any(inside)) throw_errno(ENOTEMPTY, name);
  if (holds_embedded(stores_.embedded_of(inside).get(), inside.group)) refuse(name);
}

void StoreGuard::require_movable(NodeId directory, const std::string& name) {
  const auto place = place_of(directory);
  if (!place) return;
  const StorePlace inside = place->inside(name);
  if (find_beside(directory, *place, name) || hides_embedded(directory, *place, name) ||
      holds_embedded(stores_.embedded_of(inside).get(), inside.group))
    refuse(name);
}

void StoreGuard::before_renaming(const Rename& rename) {
  const bool exchanges = (rename.flags & RENAME_EXCHANGE) != 0;
  require_movable(rename.from, rename.from_name);
  if (exchanges) require_movable(rename.to, rename.to_name);
  const auto to = place_of(rename.to);
  if (!to || exchanges) return;
  if (find_beside(rename.to, *to, rename.to_name)) {
    if ((rename.flags & RENAME_NOREPLACE) != 0) throw_errno(EEXIST, rename.to_name);
    refuse(rename.to_name);
  }
  const StorePlace inside = to->inside(rename.to_name);
  if (holds_embedded(stores_.embedded_of(inside).get(), inside.group)) refuse(rename.to_name);
  if (hides_embedded(rename.to, *to, rename.to_name)) refuse(rename.to_name);
  require_free_key(*to, rename.to_name);
}

}  // namespace bloscfs::fs
