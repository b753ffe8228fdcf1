#include "fs/source/local/names/surroundings.hpp"

#include <filesystem>
#include <utility>

#include "fs/source/local/files/mount_lock.hpp"

namespace bloscfs::fs {
namespace {

bool is_locked_above(std::filesystem::path path, bool is_single) {
  if (is_single && is_locked_by_other(path)) return true;
  while (path.has_relative_path()) {
    path = path.parent_path();
    if (is_locked_by_other(path)) return true;
  }
  return false;
}

}  // namespace

Surroundings::Surroundings(std::string directory, const std::optional<std::string>& single)
    : directory_(std::move(directory)),
      is_below_another_mount_(is_locked_above(directory_, single.has_value())) {
  std::filesystem::path above = "/";
  for (const auto& part : std::filesystem::path(directory_).relative_path()) {
    columns_.enter(above, part);
    above /= part;
  }
}

}  // namespace bloscfs::fs
