#pragma once
// A directory of SOURCE whose entries are made, renamed and removed.

#include <optional>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>

#include "fs/source/local/files/source_object.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

class AsCaller;

/// Copies are of the same directory. Names are single components, and symlinks are never followed.
/// Errors are std::system_error with the errno. Thread-safe.
class SourceDirectory {
 public:
  /// `directory` may be open with O_PATH; `path` is for messages.
  SourceDirectory(frame::SharedFd directory, std::string path)
      : directory_(std::move(directory)), path_(std::move(path)) {}
  SourceDirectory(frame::UniqueFd directory, std::string path)
      : SourceDirectory(std::make_shared<const frame::UniqueFd>(std::move(directory)),
                        std::move(path)) {}

  int descriptor() const { return directory_->get(); }
  /// Path below SOURCE of an entry, for messages.
  std::string path_of(const std::string& name) const;
  struct stat stat() const;
  /// lstat of an entry; nullopt when there is none.
  std::optional<struct stat> stat(const std::string& name) const;
  SourceObject object(const std::string& name) const;
  /// With O_CLOEXEC, O_NOFOLLOW and O_NONBLOCK.
  frame::UniqueFd open(const std::string& name, int flags) const;

  // The calls below are made as the change says (fs/source/local/files/on_behalf.hpp).

  /// What is made has the caller's owner, and the mode as the umask leaves it; the daemon has none.
  /// All fail with EEXIST.
  frame::UniqueFd make_file(const Change& change, const std::string& name, mode_t mode) const;
  void make_directory(const Change& change, const std::string& name, mode_t mode) const;
  void make_symlink(const Change& change, const std::string& name, const std::string& target) const;
  /// A fifo, socket or device by the type bits of `mode`.
  void make_special(const Change& change, const std::string& name, mode_t mode, dev_t device) const;
  /// A hard link here to `existing` of another directory.
  void make_link(const Change& change, const std::string& name, const SourceDirectory& from,
                 const std::string& existing) const;

  /// EACCES, or EPERM in a sticky directory, unless the entry may be removed.
  void check_removal(const Change& change, const std::string& name) const;
  void remove_file(const Change& change, const std::string& name) const;
  void remove_directory(const Change& change, const std::string& name) const;

  /// Replaces what has the new name, as rename(2).
  void rename(const Change& change, const std::string& name, const SourceDirectory& to,
              const std::string& new_name) const;
  /// EEXIST if the new name is taken.
  void rename_to_free(const Change& change, const std::string& name, const SourceDirectory& to,
                      const std::string& new_name) const;
  /// Exchanges two entries in one step.
  void exchange(const Change& change, const std::string& name, const SourceDirectory& with,
                const std::string& other_name) const;

  /// Makes what happened to entries durable.
  void sync() const;

 private:
  [[noreturn]] void fail(const std::string& name) const;
  void require_removable(const AsCaller& as, const std::string& name) const;

  frame::SharedFd directory_;
  std::string path_;
};

}  // namespace bloscfs::fs
