#include "fs/source/archives/archive.hpp"

#include <cerrno>

#include "frame/store/throw_errno.hpp"
#include "fs/view/attributes.hpp"

namespace bloscfs::fs {

void require_complete(const Archive& archive, const std::string& name) {
  if (!archive.is_complete()) frame::throw_errno(EIO, name + ": may be in a damaged part");
}

std::optional<ArchiveEntry> find_shown(const Archive& archive, const std::string& group,
                                       const std::string& name) {
  std::optional<ArchiveEntry> found;
  const auto full_name = full_name_of(name, [&](const std::string& full) -> std::optional<ShownAs> {
    found = archive.find(group, full);
    return found ? std::optional(found->shown) : std::nullopt;
  });
  if (!full_name) require_complete(archive, name);
  if (!full_name) return std::nullopt;
  if (found && found->full_name == *full_name) return found;
  return archive.find(group, *full_name);
}

std::optional<std::string> group_attribute(const Archive& archive, const std::string& group,
                                           const std::string& name) {
  if (auto own = archive.attribute(group, name)) return own;
  const auto frame = layer_of(name) ? archive.frame_of(group) : nullptr;
  return frame ? value_of(values_of(*frame), name) : std::nullopt;
}

}  // namespace bloscfs::fs
