#include "frame/store/object_tree.hpp"

#include <cerrno>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline store {

std::vector<ObjectEntry> ObjectTree::list(const std::string& directory) {
  const auto charge = make_charge_ ? make_charge_(directory) : nullptr;
  return list(directory, charge ? *charge : *uncharged());
}

std::shared_ptr<ObjectOpening> ObjectTree::begin(const std::string&, std::span<const ByteRange>,
                                                 const void*) {
  return nullptr;
}

ObjectState ObjectTree::put(const std::string& path, Bytes, const ObjectCondition&,
                            const std::map<std::string, std::string>&) {
  throw_errno(EROFS, path);
}

void ObjectTree::remove(const std::string& path, const ObjectCondition&) {
  throw_errno(EROFS, path);
}

void ObjectTree::remove_once(const std::string& path, const ObjectState& state) {
  remove(path, {ObjectCondition::Kind::same, state});
}

void ObjectTree::remove_all(std::span<const std::string> paths) {
  for (const std::string& path : paths) remove(path, {});
}

void ObjectTree::copy(const std::string&, const std::string& to) { throw_errno(EROFS, to); }

}  // namespace bloscfs::frame::inline store
