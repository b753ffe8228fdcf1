#include "fs/source/local/names/surroundings.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <sys/stat.h>

#include "frame/pystore/store_names.hpp"
#include "frame/store/refusal.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/mount_lock.hpp"

namespace bloscfs::fs {
namespace {

bool is_there(const std::filesystem::path& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) == 0) return true;
  // Where the daemon may not look nothing counts as there: SOURCE may lie in anybody's home.
  if (!frame::is_refusal(frame::errno_code(errno))) frame::throw_errno(path.native());
  return false;
}

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
    if (part.empty()) continue;
    const std::size_t depth = names_.size();
    if (depth > 0 && is_there(above / frame::kEmbedName))
      store_depth_ = std::min(store_depth_, depth);
    Table table;
    if (part == kColumnsGroup) table.is_described = is_there(above / kTableFrame);
    if (table.is_described) table.columns = ProtectedColumns((above / kTableFrame).native());
    tables_.push_back(std::move(table));
    names_.push_back(part);
    above /= part;
  }
}

}  // namespace bloscfs::fs
