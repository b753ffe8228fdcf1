// Changes of names, in stores that are directories as elsewhere.

#include "fs/mount/filesystem.hpp"

namespace bloscfs::fs {

bool Filesystem::is_far(NodeId node) { return stores_.is_part(node) || tree_.is_in_store(node); }

void Filesystem::before_changing(NodeId node, const Caller&) {
  if (writable_) StoreGuard::require_changeable(node);
}

NodeId Filesystem::place_to_make(NodeId directory, const std::string& name, const Caller& caller) {
  if (!writable_) return directory;
  store_guard_.before_making(directory, name);
  return store_guard_.directory_to_make_in(directory, caller);
}

Tree::Found Filesystem::create_file(NodeId directory, const std::string& name, mode_t mode,
                                    const Caller& caller) {
  require_permitted(mode);
  return names_.create_file(place_to_make(directory, name, caller), name, mode, caller);
}

Tree::Found Filesystem::make_directory(NodeId directory, const std::string& name, mode_t mode,
                                       const Caller& caller) {
  // Hides no leaf: a key can be a leaf and a group.
  if (writable_) directory = store_guard_.directory_to_make_in(directory, caller);
  return names_.make_directory(directory, name, mode, caller);
}

Tree::Found Filesystem::make_symlink(NodeId directory, const std::string& name,
                                     const std::string& target, const Caller& caller) {
  return names_.make_symlink(place_to_make(directory, name, caller), name, target, caller);
}

Tree::Found Filesystem::make_special(NodeId directory, const std::string& name, mode_t mode,
                                     dev_t device, const Caller& caller) {
  require_permitted(mode);
  return names_.make_special(place_to_make(directory, name, caller), name, mode, device, caller);
}

Tree::Found Filesystem::make_link(NodeId node, NodeId directory, const std::string& name,
                                  const Caller& caller) {
  before_changing(node, caller);
  return names_.make_link(node, place_to_make(directory, name, caller), name, caller);
}

void Filesystem::remove_file(NodeId directory, const std::string& name, const Caller& caller) {
  if (writable_) store_guard_.before_removing(directory, name);
  names_.remove_file(stores_.present(directory), name, caller);
}

void Filesystem::remove_directory(NodeId directory, const std::string& name, const Caller& caller) {
  if (writable_) store_guard_.before_removing_directory(directory, name);
  names_.remove_directory(stores_.present(directory), name, caller);
}

void Filesystem::rename(NodeId from, const std::string& from_name, NodeId to,
                        const std::string& to_name, unsigned flags, const Caller& caller) {
  if (writable_) {
    store_guard_.before_renaming({from, from_name, to, to_name, flags});
    to = store_guard_.directory_to_make_in(to, caller);
  }
  names_.rename(stores_.present(from), from_name, stores_.present(to), to_name, flags, caller);
}

}  // namespace bloscfs::fs
