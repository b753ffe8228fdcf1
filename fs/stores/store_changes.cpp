#include "fs/stores/store_changes.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <set>
#include <system_error>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "codec/block_decoder.hpp"
#include "frame/pystore/store_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/naming.hpp"
#include "fs/source/on_behalf.hpp"
#include "fs/stores/embedded_rewrite.hpp"
#include "fs/stores/leaf_copy.hpp"
#include "fs/support/lock_breaks.hpp"
#include "fs/support/log.hpp"
#include "fs/support/turns.hpp"
#include "fs/tree/tree_changes.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// Last parts of the keys that files shown by a name can have.
std::set<std::string> key_names(const std::string& shown_name) {
  std::set<std::string> names{shown_name, std::string(stem(shown_name))};
  if (shown_name.ends_with(kNpySuffix) && shown_name.size() > kNpySuffix.size())
    names.insert(shown_name.substr(0, shown_name.size() - kNpySuffix.size()));
  return names;
}

std::vector<std::string> full_names(const std::string& shown_name) {
  std::vector<std::string> names = possible_full_names(shown_name);
  names.push_back(shown_name);
  return names;
}

const frame::Leaf* find_leaf(const MountedStore* store, const std::string& key,
                             std::optional<frame::StoreEntry>& entry) {
  entry = store == nullptr ? std::nullopt : store->store().find(key);
  return entry && entry->leaf ? &*entry->leaf : nullptr;
}

}  // namespace

std::optional<StorePlace> StoreChanges::place_of(NodeId directory) {
  if (!Stores::holds(directory)) return tree_.store_place(directory);
  auto group = stores_.embedded(directory);
  if (!group || group->child.leaf) return std::nullopt;
  return StorePlace{group->place.root, std::move(group->place.root_path),
                    std::move(group->child.key)};
}

std::optional<Beside::Entry> StoreChanges::find_beside(NodeId directory, const StorePlace& place,
                                                       const std::string& name) {
  if (!Stores::holds(directory)) return tree_.find_beside(directory, name);
  // Nothing but what is embedded is in such a group.
  for (const std::string& full_name : full_names(name))
    if (auto entry = stores_.find(place, full_name);
        entry && preferred_name(full_name, entry->shown) == name)
      return entry;
  return std::nullopt;
}

bool StoreChanges::is_hidden(const Leaf& leaf) {
  if (leaf.name == frame::kGroupAttributes)
    return root_.stat(join_path(leaf.place.path(), leaf.name + std::string(kFlatLeafSuffix)))
        .has_value();
  const auto st = root_.stat(leaf.place.path());
  if (!st || !S_ISDIR(st->st_mode)) return false;
  const NodeId directory = stores_.find_directory(leaf.place.root, leaf.place.group);
  if (directory == 0) return false;
  const bool is_hidden = tree_.hides_leaf(directory, leaf.name);
  if (directory != leaf.place.root) tree_.forget(directory, 1);
  return is_hidden;
}

bool StoreChanges::make_external(const Leaf& leaf, Change change, const Caller& caller) {
  TurnAtNeed::need();
  const KeyedMutex::Lock lock(changing_, leaf.place.root);
  const auto store = stores_.embedded_of(leaf.place);
  std::optional<frame::StoreEntry> entry;
  const frame::Leaf* const embedded = find_leaf(store.get(), leaf.key(), entry);
  if (embedded == nullptr || is_hidden(leaf)) return false;
  if (std::holds_alternative<frame::ReferencedLeaf>(*embedded))
    throw_errno(EOPNOTSUPP, leaf.key() + ": a reference");
  const SourceDirectory root = root_.directory(leaf.place.root_path);
  require(change, root, caller);
  make_group(leaf.place, caller);
  const SourceDirectory in = root_.directory(leaf.place.path());
  LeafCopy copy(in, root, *store, *embedded, caller);
  const std::string full_name = leaf.name + copy.suffix();
  // Another program may have put another leaf there meanwhile.
  if (stores_.embedded_of(leaf.place) != store) throw_errno(ESTALE, leaf.key());
  Attempts::run([&] {
    TreeChanges names(tree_);
    if (in.stat(full_name)) throw_errno(ESTALE, full_name);
    copy.take_name(full_name);
    names.note_change(in.stat());
  });
  in.sync();
  try {
    take_out(leaf.place, *store, {leaf.key()});
  } catch (const std::exception& error) {
    log::warn(fmt::format("{}: stays embedded behind its file: {}", in_text(leaf), error.what()));
  }
  return true;
}

void StoreChanges::make_group(const StorePlace& place, const Caller& caller) {
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
        in.make_directory(name, mode);
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

void StoreChanges::remove_embedded(const Leaf& leaf, const Caller& caller) {
  TurnAtNeed::need();
  const KeyedMutex::Lock lock(changing_, leaf.place.root);
  const auto store = stores_.embedded_of(leaf.place);
  std::optional<frame::StoreEntry> entry;
  // Somebody may just have made a file of it, which is not what was to be removed.
  if (find_leaf(store.get(), leaf.key(), entry) == nullptr || is_hidden(leaf))
    throw_errno(ESTALE, leaf.key());
  require(Change::of_names, root_.directory(leaf.place.root_path), caller);
  make_group(leaf.place, caller);
  take_out(leaf.place, *store, {leaf.key()});
  note_change(leaf.place);
}

void StoreChanges::note_change(const StorePlace& place) {
  const struct stat st = root_.directory(place.path()).stat();
  TreeChanges(tree_).note_change(st);
}

void StoreChanges::require(Change change, const SourceDirectory& root, const Caller& caller) {
  if (change == Change::of_contents)
    require_changing_embed(root, caller);
  else
    require_replacing_embed(root, caller);
}

void StoreChanges::take_out(const StorePlace& place, const MountedStore& store,
                            std::vector<std::string> keys) {
  remove_from_embed(root_.directory(place.root_path),
                    {std::move(keys), store.store().embed()->stamp()}, counters_);
}

void StoreChanges::remove_shadows(const StorePlace& place, const std::string& shown_name,
                                  Change change, const Caller& caller) {
  for (const std::string& name : key_names(shown_name)) {
    const Leaf leaf{place, name};
    const auto store_with_shadow = [&]() -> std::shared_ptr<const MountedStore> {
      auto store = stores_.embedded_of(place);
      std::optional<frame::StoreEntry> entry;
      const bool has_leaf = find_leaf(store.get(), leaf.key(), entry) != nullptr;
      return has_leaf && is_hidden(leaf) ? std::move(store) : nullptr;
    };
    if (!store_with_shadow()) continue;
    TurnAtNeed::need();
    const KeyedMutex::Lock lock(changing_, place.root);
    const auto store = store_with_shadow();
    if (!store) continue;
    try {
      require(change, root_.directory(place.root_path), caller);
      take_out(place, *store, {leaf.key()});
    } catch (const std::system_error& error) {
      if (change == Change::of_names) throw;
      log::warn(fmt::format("{}: stays embedded behind its file: {}", in_text(leaf), error.what()));
    }
  }
}

void StoreChanges::keep_name(const StorePlace& place, const std::string& shown_name,
                             const Caller& caller) {
  const auto store = stores_.embedded_of(place);
  for (const std::string& name : key_names(shown_name)) {
    const Leaf leaf{place, name};
    std::optional<frame::StoreEntry> entry;
    if (find_leaf(store.get(), leaf.key(), entry) != nullptr)
      make_external(leaf, Change::of_names, caller);
  }
}

std::string StoreChanges::in_text(const Leaf& leaf) const {
  return leaf.place.root_path.text() + ":" + leaf.key();
}

void StoreChanges::before_changing(NodeId node, const Caller& caller) {
  if (!Stores::holds(node)) {
    const auto name = tree_.has_store_directories() ? tree_.name_of(node) : std::nullopt;
    const auto place = name && !name->is_lost ? tree_.store_place(name->directory) : std::nullopt;
    if (place)
      remove_shadows(*place, std::string(frame::leaf_stem(name->full_name)), Change::of_contents,
                     caller);
    return;
  }
  const auto embedded = stores_.embedded(node);
  if (!embedded) return;
  TurnAtNeed::need();
  const std::string& key = embedded->child.key;
  if (!embedded->child.leaf) {
    const KeyedMutex::Lock lock(changing_, embedded->place.root);
    return make_group({embedded->place.root, embedded->place.root_path, key}, caller);
  }
  make_external({embedded->place, std::string(frame::last_part(key))}, Change::of_contents, caller);
  throw_errno(ESTALE, key);
}

NodeId StoreChanges::directory_to_make_in(NodeId directory, const Caller& caller) {
  if (!Stores::holds(directory)) return directory;
  const NodeId present = stores_.present(directory);
  if (present != directory) return present;
  before_changing(directory, caller);
  return stores_.present(directory);
}

void StoreChanges::before_making(NodeId directory, const std::string& name, const Caller& caller) {
  if (const auto place = place_of(directory)) keep_name(*place, name, caller);
}

bool StoreChanges::before_removing(NodeId directory, const std::string& name,
                                   const Caller& caller) {
  const auto place = place_of(directory);
  if (!place) return false;
  if (const auto entry = find_beside(directory, *place, name)) {
    if (S_ISDIR(entry->type)) throw_errno(EISDIR, name);
    remove_embedded({*place, entry->key_name}, caller);
    return true;
  }
  remove_shadows(*place, name, Change::of_names, caller);
  return false;
}

/// Throws ENOTEMPTY, and where it may not be removed. False for what is no group of this store.
bool StoreChanges::is_empty_group(NodeId directory, const std::string& name, const Caller& caller) {
  return Attempts::run([&] {
    TreeChanges names(tree_);
    const auto object = names.find(directory, name);
    if (!object || !object->is_directory() || object->entry.is_store_directory) return false;
    if (!names.is_empty(*object)) throw_errno(ENOTEMPTY, name);
    const OnBehalfOf behalf(&caller);
    root_.directory(object->directory_path).check_removal(object->stored_name);
    return true;
  });
}

void StoreChanges::remove_attributes(const StorePlace& group, const Caller& caller) {
  const auto store = stores_.embedded_of(group);
  if (!store || attributes_in(*store, group).empty()) return;
  TurnAtNeed::need();
  const KeyedMutex::Lock lock(changing_, group.root);
  const auto present = stores_.embedded_of(group);
  if (!present) return;
  require(Change::of_names, root_.directory(group.root_path), caller);
  take_out(group, *present, attributes_in(*present, group));
}

bool StoreChanges::before_removing_directory(NodeId directory, const std::string& name,
                                             const Caller& caller) {
  const auto place = place_of(directory);
  if (!place) return false;
  const auto entry = find_beside(directory, *place, name);
  if (entry && !S_ISDIR(entry->type)) throw_errno(ENOTDIR, name);
  if (!entry && !is_empty_group(stores_.present(directory), name, caller)) return false;
  const StorePlace inside = place->inside(name);
  if (stores_.has_any(inside)) throw_errno(ENOTEMPTY, name);
  remove_attributes(inside, caller);
  return entry.has_value();
}

/// Keys of the embedded attributes of a group, and of those in it.
std::vector<std::string> StoreChanges::attributes_in(const MountedStore& store,
                                                     const StorePlace& group) {
  std::vector<std::string> keys;
  for (const frame::EmbedMap::Entry& entry : store.store().embed_map().entries())
    if (entry.key.starts_with(group.group + "/") &&
        frame::last_part(entry.key) == frame::kGroupAttributes)
      keys.push_back(entry.key);
  return keys;
}

/// They go with their directories as files.
void StoreChanges::keep_attributes(const StorePlace& group, const Caller& caller) {
  const auto store = stores_.embedded_of(group);
  if (!store) return;
  for (const std::string& key : attributes_in(*store, group)) {
    const StorePlace of{group.root, group.root_path, key.substr(0, key.rfind('/'))};
    make_external({of, std::string(frame::kGroupAttributes)}, Change::of_names, caller);
    remove_shadows(of, std::string(frame::kGroupAttributes), Change::of_names, caller);
  }
}

void StoreChanges::require_movable(const StorePlace& place, const std::string& name) {
  if (stores_.has_any(place.inside(name)))
    throw_errno(EXDEV, name + ": a group with embedded leaves");
}

void StoreChanges::before_moving(NodeId directory, const std::string& name, const Caller& caller) {
  const auto place = place_of(directory);
  if (!place) return;
  require_movable(*place, name);
  stores_.note_directories(place->inside(name));
  keep_attributes(place->inside(name), caller);
  if (const auto entry = find_beside(directory, *place, name))
    make_external({*place, entry->key_name}, Change::of_names, caller);
  remove_shadows(*place, name, Change::of_names, caller);
}

void StoreChanges::before_renaming(const Rename& rename, const Caller& caller) {
  const auto to = place_of(rename.to);
  if (to && (rename.flags & RENAME_EXCHANGE) == 0)
    if (const auto entry = find_beside(rename.to, *to, rename.to_name)) {
      if ((rename.flags & RENAME_NOREPLACE) != 0) throw_errno(EEXIST, rename.to_name);
      if (S_ISDIR(entry->type)) throw_errno(ENOTEMPTY, rename.to_name);
    }
  before_moving(rename.from, rename.from_name, caller);
  if ((rename.flags & RENAME_EXCHANGE) != 0) {
    before_moving(rename.to, rename.to_name, caller);
    before_making(rename.from, rename.from_name, caller);
  }
  if (!to) return;
  // What takes the place of an empty group does not get its attributes.
  if ((rename.flags & RENAME_EXCHANGE) == 0 &&
      is_empty_group(stores_.present(rename.to), rename.to_name, caller))
    remove_attributes(to->inside(rename.to_name), caller);
  keep_name(*to, rename.to_name, caller);
  remove_shadows(*to, rename.to_name, Change::of_names, caller);
}

}  // namespace bloscfs::fs
