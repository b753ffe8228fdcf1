#include "frame/editing/replace_expected.hpp"

#include <optional>
#include <system_error>

namespace bloscfs::frame::inline editing {
namespace {

bool is_same(const std::optional<FileStamp>& a, const std::optional<FileStamp>& b) {
  return a && b && a->device == b->device && a->inode == b->inode;
}

void put_back(StoreDirectory& directory, const std::string& from, const std::string& to,
              const std::optional<FileStamp>& ours) {
  try {
    directory.rename(from, to, RenameMode::exchange);
    if (is_same(directory.stamp(from), ours)) return;
    // Another program has replaced ours meanwhile: what it gave the name last shall have it.
    directory.rename(from, to, RenameMode::exchange);
  } catch (const std::system_error& error) {
    // Another program has removed what it found there, and so what had been there before.
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
    // A filesystem that cannot exchange: another program that comes between the look and the rename
    // loses its file.
    if (error.code() != std::errc::invalid_argument) throw;
    const auto present = directory.stamp(to);
    if (!present || !is_expected(*present)) return false;
    directory.rename(from, to, RenameMode::replace);
    return true;
  }
  try {
    // The exchange has brought what had the name here, where nobody else looks: now it can be
    // compared at leisure.
    const auto replaced = directory.stamp(from);
    if (!replaced || is_expected(*replaced)) return true;
  } catch (...) {
    // The caller cleans up by removing `from`, which is not ours now: the exchange is undone
    // before.
    put_back(directory, from, to, ours);
    throw;
  }
  put_back(directory, from, to, ours);
  return false;
}

}  // namespace bloscfs::frame::inline editing
