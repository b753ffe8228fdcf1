#include "fs/source/archives/archive.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "frame/store/throw_errno.hpp"
#include "fs/view/attributes.hpp"
#include "fs/view/file_view.hpp"

namespace bloscfs::fs {

void require_complete(const Archive& archive, const std::string& name) {
  if (!archive.is_complete()) frame::throw_errno(EIO, name + ": may be in a damaged part");
}

std::optional<ArchiveEntry> find_shown(Request& request, const Archive& archive,
                                       const std::string& group, const std::string& name) {
  std::optional<ArchiveEntry> found;
  const auto full_name = full_name_of(name, [&](const std::string& full) -> std::optional<ShownAs> {
    found = archive.find(request, group, full);
    return found ? std::optional(found->shown) : std::nullopt;
  });
  if (!full_name) require_complete(archive, name);
  if (!full_name) return std::nullopt;
  if (found && found->full_name == *full_name) return found;
  return archive.find(request, group, *full_name);
}

std::optional<std::string> group_attribute(const Archive& archive, const std::string& group,
                                           const std::string& name) {
  if (auto own = archive.attribute(group, name)) return own;
  const auto frame = layer_of(name) ? archive.frame_of(group) : nullptr;
  return frame ? value_of(values_of(*frame), name) : std::nullopt;
}

std::vector<DirectoryEntry> list_shown(Request& request, const Archive& archive,
                                       const std::string& group, frame::MemoryCharge& charge,
                                       const std::function<ino_t(const ArchiveEntry&)>& inode_of) {
  std::vector<ArchiveEntry> found = archive.list(request, group, charge);
  std::vector<std::string> names;
  {
    std::vector<NamedEntry> named;
    named.reserve(found.size());
    for (const ArchiveEntry& entry : found) named.push_back({entry.full_name, entry.shown});
    names = shown_names(named);
  }
  std::vector<DirectoryEntry> entries;
  for (std::size_t i = 0; i < found.size(); i++) {
    ArchiveEntry entry = std::move(found[i]);
    const ino_t inode = inode_of(entry);
    entries.push_back({std::move(names[i]), std::move(entry.full_name), entry.type, inode});
  }
  return entries;
}

std::shared_ptr<const ArchivePart> measured(Request& request, const ArchivePart& part, bool raw) {
  if (part.size >= 0 || part.entry.is_group()) return nullptr;
  if (!part.archive) frame::throw_errno(ESTALE, part.entry.key);
  auto known = std::make_shared<ArchivePart>(part);
  if (part.entry.type == S_IFLNK) {
    known->size = static_cast<std::int64_t>(part.archive->link_text(part.entry).size());
    return known;
  }
  request.need_slot();
  const frame::FrameInfo info = part.archive->open(part.entry)->info();
  known->size = view_shape(info, raw).file_size();
  known->stored_size = info.cbytes;
  return known;
}

ino_t inode_in_archive(const struct stat& file, const ArchiveEntry& entry) {
  const std::size_t hash = std::hash<std::string>()(entry.key) * 2 + (entry.is_group() ? 0 : 1);
  return static_cast<ino_t>(hash ^ (static_cast<std::size_t>(file.st_ino) << 32));
}

struct stat status_of(const ArchivePart& part, struct stat file, mode_t may) {
  file.st_nlink = 1;
  file.st_mode = part.entry.type | (part.entry.type == S_IFLNK ? 0777 : file.st_mode & may);
  file.st_size = std::max<std::int64_t>(part.size, 0);
  file.st_blocks = (part.stored_size + kStatBlock - 1) / kStatBlock;
  return file;
}

}  // namespace bloscfs::fs
