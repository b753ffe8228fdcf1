#pragma once
// A directory of SOURCE in which entries are made, renamed and removed.

#include <optional>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>

#include "fs/source/local/files/source_object.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

class CallerIdentityScope;

/// An open directory of SOURCE. Copies refer to the same directory. Names are single components.
/// Symlinks are never followed. Errors are std::system_error with the errno. Thread-safe.
class SourceDirectory {
 public:
  /// `directory` may be open with O_PATH. `path` is relative to SOURCE, for messages.
  SourceDirectory(frame::SharedFd directory, std::string path)
      : directory_(std::move(directory)), path_(std::move(path)) {}
  SourceDirectory(frame::UniqueFd directory, std::string path)
      : SourceDirectory(std::make_shared<const frame::UniqueFd>(std::move(directory)),
                        std::move(path)) {}

  int descriptor() const { return directory_->get(); }
  /// Returns the path of an entry relative to SOURCE, for messages.
  std::string path_of(const std::string& name) const;
  struct stat stat() const;
  /// Returns the lstat(2) of an entry; nullopt if it does not exist.
  std::optional<struct stat> stat(const std::string& name) const;
  SourceObject object(const std::string& name) const;
  /// Adds O_CLOEXEC, O_NOFOLLOW and O_NONBLOCK to `flags`.
  frame::UniqueFd open(const std::string& name, int flags) const;

  // The functions below act as the change's caller (fs/source/local/files/on_behalf.hpp).

  /// The next five functions fail with EEXIST if the name is taken. The new entry belongs to the
  /// caller, and its mode is subject to the caller's umask. The daemon's own umask is 0.
  frame::UniqueFd make_file(const Change& change, const std::string& name, mode_t mode) const;
  void make_directory(const Change& change, const std::string& name, mode_t mode) const;
  void make_symlink(const Change& change, const std::string& name, const std::string& target) const;
  /// Makes a fifo, socket or device, by the type bits of `mode`.
  void make_special(const Change& change, const std::string& name, mode_t mode, dev_t device) const;
  /// Makes `name` here a hard link to `existing` of the directory `from`.
  void make_link(const Change& change, const std::string& name, const SourceDirectory& from,
                 const std::string& existing) const;

  /// Throws EACCES, or EPERM in a sticky directory, unless the caller may remove the entry.
  void check_removal(const Change& change, const std::string& name) const;
  void remove_file(const Change& change, const std::string& name) const;
  void remove_directory(const Change& change, const std::string& name) const;

  /// As rename(2): replaces an existing `new_name`.
  void rename(const Change& change, const std::string& name, const SourceDirectory& to,
              const std::string& new_name) const;
  /// Renames an entry. Fails with EEXIST if `new_name` is taken.
  void rename_to_free(const Change& change, const std::string& name, const SourceDirectory& to,
                      const std::string& new_name) const;
  /// Exchanges the two entries atomically.
  void exchange(const Change& change, const std::string& name, const SourceDirectory& with,
                const std::string& other_name) const;

  /// Makes changes of entries durable.
  void sync() const;

 private:
  [[noreturn]] void fail(const std::string& name) const;
  void require_removable(const CallerIdentityScope& as, const std::string& name) const;

  frame::SharedFd directory_;
  std::string path_;
};

}  // namespace bloscfs::fs
