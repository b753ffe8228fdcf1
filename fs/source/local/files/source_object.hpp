#pragma once
// One object of SOURCE, whatever kind it is of and whatever happens to its names.

#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "frame/store/byte_source.hpp"
#include "fs/source/local/files/source_path.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// lstat of an entry of a directory, or of the descriptor itself where the name is empty, after a
/// change of our own, which what the kernel remembers of a filesystem in another process, or on
/// another machine, may not show yet. nullopt, with errno set, where it cannot be.
std::optional<struct stat> stat_anew(int fd, const std::string& name);

/// A descriptor of one object in SOURCE. It is opened with O_PATH, so that a device or fifo is not
/// touched and a symlink is not followed; a file that this mount has just made keeps the descriptor
/// that it was made with. Copies are of the same object. Errors are std::system_error with the
/// errno. Thread-safe.
class SourceObject {
 public:
  /// `name` is for messages.
  SourceObject(frame::UniqueFd object, std::string name)
      : object_(std::make_shared<const frame::UniqueFd>(std::move(object))),
        name_(std::move(name)) {}
  SourceObject(frame::SharedFd object, std::string name)
      : object_(std::move(object)), name_(std::move(name)) {}
  /// A file that was made as `made`, and is open for reading and writing since.
  SourceObject(frame::UniqueFd object, std::string name, const Identity& made)
      : SourceObject(std::move(object), std::move(name)) {
    made_ = made;
  }

  /// The same object, about to lose its name. A filesystem that finds objects by their names
  /// (sshfs, bindfs) tells nothing of it then, and stat() tells what it was.
  std::shared_ptr<const SourceObject> kept() const;

  int descriptor() const { return object_->get(); }
  const std::string& name() const { return name_; }
  struct stat stat() const;
  /// The same after a change of our own.
  struct stat stat_anew() const;
  /// lstat of an entry of a directory; nullopt when there is none.
  std::optional<struct stat> stat(const std::string& entry) const;
  /// Opens it, with O_CLOEXEC and O_NONBLOCK: a fifo must not stop the daemon.
  frame::UniqueFd open(int flags) const;
  /// The same without changing the time of access, where that is permitted.
  frame::UniqueFd open_quietly(int flags) const;
  /// For reading and writing: a descriptor that is open so already, or a new one as of
  /// open_quietly().
  frame::SharedFd open_to_write() const;
  /// What was made.
  const std::optional<Identity>& made() const { return made_; }
  /// As access(2) with the daemon's effective ids; throws if it is not allowed.
  void check_access(int mask) const;

  // The calls below are made as the change says (fs/source/local/files/on_behalf.hpp).

  void set_mode(const Change& change, mode_t mode) const;
  /// uid_t{-1} and gid_t{-1} leave the owner and the group as they are.
  void set_owner(const Change& change, uid_t owner, gid_t group) const;
  /// UTIME_NOW and UTIME_OMIT as in utimensat(2).
  void set_times(const Change& change, const timespec& accessed, const timespec& modified) const;

  /// Names of the extended attributes; empty where the filesystem has none.
  std::vector<std::string> attribute_names() const;
  std::string attribute(const std::string& name) const;
  /// `flags` as in setxattr(2).
  void set_attribute(const Change& change, const std::string& name, const std::string& value,
                     int flags) const;
  void remove_attribute(const Change& change, const std::string& name) const;

 private:
  std::string path() const;

  frame::SharedFd object_;
  std::string name_;
  std::optional<struct stat> last_;  ///< of what may have no name
  std::optional<Identity> made_;
};

}  // namespace bloscfs::fs
