#include "fs/source/local/mount_source.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "frame/open/open.hpp"
#include "frame/pystore/python_store.hpp"
#include "frame/pystore/store_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/mount_lock.hpp"
#include "fs/source/naming.hpp"
#include "fs/view/file_view.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr),
                                                        std::free);
  if (!resolved) throw_errno();
  return resolved.get();
}

frame::UniqueFd open_directory_path(const std::string& path) {
  frame::UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) throw_errno();
  return fd;
}

/// Does not read the names of the store's members, which may need more memory than there is.
bool is_zip_store(const std::string& path) {
  if (!path.ends_with(frame::kZipStoreSuffix)) return false;
  frame::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw_errno();
  const auto file = std::make_shared<frame::FileSource>(std::move(fd), nullptr);
  return frame::zip_store_kind(file, {}).has_value();
}

MountSource source_in(const std::string& directory, std::optional<std::string> single) {
  const bool is_below = is_below_another_mount(directory, single.has_value());
  return {open_directory_path(directory), std::move(single), directory, is_below,
          ColumnPath(directory)};
}

}  // namespace

MountSource open_source(const std::string& path, bool raw, bool stores) {
  const std::string resolved = real_path(path);
  struct stat st {};
  if (::stat(resolved.c_str(), &st) != 0) throw_errno();
  const auto snapshot = frame::open_path(resolved, {});
  const bool is_store = stores && !snapshot && S_ISREG(st.st_mode) && is_zip_store(resolved);
  if (!snapshot && !is_store) {
    if (!S_ISDIR(st.st_mode))
      throw std::invalid_argument(
          promises_frame(path) ? no_header_message(st.st_size)
                               : "neither a directory nor a Blosc2 frame nor a Bloscpack file" +
                                     creation_hint(path));
    return source_in(resolved, std::nullopt);
  }
  if (snapshot) view_shape(snapshot->info(), raw);  // refuses an array that cannot be shown
  const std::size_t slash = resolved.rfind('/');
  MountSource source =
      source_in(resolved.substr(0, std::max<std::size_t>(slash, 1)), resolved.substr(slash + 1));
  source.is_archive = is_store;
  return source;
}

}  // namespace bloscfs::fs
