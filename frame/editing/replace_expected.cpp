#include "frame/editing/replace_expected.hpp"

#include <optional>
#include <system_error>

namespace bloscfs::frame::inline editing {
namespace {

bool is_same(const std::optional<FileStamp>& a, const std::optional<FileStamp>& b) {
  return a && b && a->device == b->device && a->inode == b->inode;
}

/// Undoes the exchange: `to` gets its old file back, and `from` gets ours. If another program has
/// changed `to` since, its change stays, and the old file is removed.
void put_back(StoreDirectory& directory, const std::string& from, const std::string& to,
              const std::optional<FileStamp>& ours) {
  try {
    directory.rename(from, to, RenameMode::exchange);
    if (is_same(directory.stamp(from), ours)) return;
    // Another program had replaced our file under `to`. Its file must keep that name, so exchanges
    // again.
    directory.rename(from, to, RenameMode::exchange);
  } catch (const std::system_error& error) {
    // Another program has removed our file under `to`, and the name with it. The file that had this
    // name before is then removed, too.
    if (error.code() != std::errc::no_such_file_or_directory) throw;
  }
  directory.unlink(from);
}

}  // namespace

bool replace_expected(StoreDirectory& directory, const std::string& from, const std::string& to,
                      const std::function<bool(const FileStamp&)>& is_expected) {
  const auto ours = directory.stamp(from);
  try {
    directory.rename(from, to, RenameMode::exchange);
  } catch (const std::system_error& error) {
    // The filesystem cannot exchange names. If another program replaces the file between the check
    // and the rename, that file is lost.
    if (error.code() != std::errc::invalid_argument) throw;
    const auto present = directory.stamp(to);
    if (!present || !is_expected(*present)) return false;
    directory.rename(from, to, RenameMode::replace);
    return true;
  }
  try {
    // The exchange has moved the old file to `from`, where no other program looks. It can now be
    // compared without a race.
    const auto replaced = directory.stamp(from);
    if (!replaced || is_expected(*replaced)) return true;
  } catch (...) {
    // The caller cleans up by removing `from`, which is not our file now. The exchange must be
    // undone before that.
    put_back(directory, from, to, ours);
    throw;
  }
  put_back(directory, from, to, ours);
  return false;
}

}  // namespace bloscfs::frame::inline editing
