#include "fs/source/local/files/kept_files.hpp"

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

#include "frame/store/open_regular.hpp"
#include "frame/store/refusal.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/naming.hpp"

namespace bloscfs::fs {
namespace {

namespace filesystem = std::filesystem;

/// Returns the paths where a journal of SOURCE may be. The journal of a directory is inside it, and
/// that of a single frame is next to it. A sparse frame is a directory, too, so both are tried.
std::vector<filesystem::path> journals_of(const filesystem::path& source) {
  std::vector<filesystem::path> names{source.parent_path() /
                                      lock_file_name(source.filename().string())};
  std::error_code error;
  if (filesystem::is_directory(source, error))
    names.push_back(source / lock_file_name(std::nullopt));
  return names;
}

}  // namespace

std::vector<KeptFile> kept_files(const std::string& source, uid_t user) {
  std::vector<KeptFile> all;
  for (const filesystem::path& name : journals_of(source)) {
    // Checks the owner before the file is opened: the caller may not open a lock file of another
    // user, such as that of a writable mount of SOURCE.
    const frame::UniqueFd place(::open(name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!place && !frame::is_refusal(frame::errno_code(errno))) frame::throw_errno(name.string());
    struct stat st {};
    if (!place || ::fstat(place.get(), &st) != 0 || st.st_uid != user || (st.st_mode & 0077) != 0)
      continue;
    if (const auto file = frame::open_if_regular(place, O_RDONLY))
      for (KeptFile& kept : Journal(file).kept()) all.push_back(std::move(kept));
  }
  return all;
}

}  // namespace bloscfs::fs
