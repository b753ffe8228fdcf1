#include "tools/mounted_path.hpp"

#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "frame/remote/open_remote.hpp"
#include "frame/remote/url.hpp"
#include "frame/store/byte_source.hpp"
#include "fs/fuse/remount.hpp"
#include "fs/mount/mount_question.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/source/naming.hpp"
#include "fs/support/file_error.hpp"

namespace bloscfs::tools {
namespace {

namespace filesystem = std::filesystem;

struct MountedPath {
  std::string source;
  filesystem::path below;  ///< relative to SOURCE, with shown names; empty for the root
};

/// True if `path` is `directory`, or below it.
bool is_at_or_below(const std::string& path, const std::string& directory) {
  if (directory == "/") return true;
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

std::optional<MountedPath> find_mounted(const std::string& path) {
  std::error_code error;
  const std::string full = filesystem::weakly_canonical(filesystem::absolute(path, error), error);
  if (error) return std::nullopt;
  std::optional<fs::MountEntry> last;
  for (fs::MountEntry& mount : fs::mount_table())
    if (is_at_or_below(full, mount.point) && (!last || mount.point.size() >= last->point.size()))
      last = std::move(mount);
  if (!last || last->type != fs::kMountType) return std::nullopt;
  const std::size_t size = last->point == "/" ? 0 : last->point.size();
  return MountedPath{last->source, filesystem::path(full.substr(size)).relative_path()};
}

/// Returns the path of the container in `directory` that a mount shows as `name`; empty if there is
/// none.
filesystem::path container_shown_as(const std::string& name, const filesystem::path& directory) {
  std::error_code ignored;
  for (const std::string& full_name : fs::possible_full_names(name))
    if (filesystem::exists(directory / full_name, ignored)) return directory / full_name;
  return {};
}

}  // namespace

std::optional<std::string> stored_behind(const std::string& path) {
  const auto mounted = find_mounted(path);
  if (!mounted) return std::nullopt;
  std::error_code ignored;
  if (!filesystem::is_directory(mounted->source, ignored)) return mounted->source;
  filesystem::path stored = mounted->source;
  for (const filesystem::path& name : mounted->below) {
    if (!filesystem::exists(stored / name, ignored)) {
      const filesystem::path found = container_shown_as(name, stored);
      return found.empty() ? mounted->source : found.string();
    }
    stored /= name;
  }
  return std::nullopt;
}

std::optional<std::string> place_in_source(const std::string& path) {
  const auto mounted = find_mounted(path);
  if (!mounted) return std::nullopt;
  std::error_code ignored;
  if (!frame::is_remote(mounted->source) && !filesystem::is_directory(mounted->source, ignored))
    return mounted->source;
  return (filesystem::path(mounted->source) / mounted->below).string();
}

void commit_mounts_of(const std::string& path) {
  std::error_code error;
  const std::string full = filesystem::canonical(path, error);
  if (error) return;
  for (const fs::MountEntry& mount : fs::mount_table()) {
    if (mount.type != fs::kMountType || mount.read_only || !mount.source.starts_with('/') ||
        !is_at_or_below(full, mount.source))
      continue;
    try {
      fs::ask_for_long_work(mount, []() -> std::string {
        const frame::UniqueFd root = fs::open_root();
        // The kernel first passes on what was written through mappings.
        if (::syncfs(root.get()) == 0) ::ioctl(root.get(), fs::kCommitRequest);
        return "";
      });
    } catch (const std::system_error&) {
      continue;
    } catch (const std::runtime_error& hanging) {
      throw fs::FileError(path, fmt::format("is in the source of the mount at {}, and {}",
                                            mount.point, hanging.what()));
    }
  }
}

void refuse_shown(const std::string& path) {
  if (const auto stored = stored_behind(path))
    throw std::runtime_error(
        fmt::format("is shown by a mount and no frame itself; name what is stored: {}",
                    frame::shown_url(*stored)));
}

}  // namespace bloscfs::tools
