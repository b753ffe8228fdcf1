#pragma once
// One object of SOURCE, of any kind, whatever happens to its names.

#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "frame/store/byte_source.hpp"
#include "fs/source/local/files/source_path.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// Returns the lstat(2) of an entry of the directory `fd`, or of `fd` itself if `name` is empty.
/// Asks the filesystem anew (AT_STATX_FORCE_SYNC). After our own change on a network or FUSE
/// filesystem, the kernel may still have the attributes from before. Returns nullopt, with errno
/// set, on failure.
std::optional<struct stat> stat_anew(int fd, const std::string& name);

/// A descriptor of one object in SOURCE. It is open with O_PATH, so that opening never acts on a
/// device or fifo, nor follows a symlink. A file that this mount has just made keeps the descriptor
/// that it was made with. Copies refer to the same object. Errors are std::system_error with the
/// errno. Thread-safe.
class SourceObject {
 public:
  /// `name` is for messages.
  SourceObject(frame::UniqueFd object, std::string name)
      : object_(std::make_shared<const frame::UniqueFd>(std::move(object))),
        name_(std::move(name)) {}
  SourceObject(frame::SharedFd object, std::string name)
      : object_(std::move(object)), name_(std::move(name)) {}
  /// A file that this mount has made with the identity `made`. `object` is open for reading and
  /// writing.
  SourceObject(frame::UniqueFd object, std::string name, const Identity& made)
      : SourceObject(std::move(object), std::move(name)) {
    made_ = made;
  }

  /// Returns a copy that can be used after the object has lost its name. Filesystems that find
  /// objects by name (sshfs, bindfs) then report no attributes. In that case stat() of the copy
  /// returns the attributes that the object has now, with a link count of 0.
  std::shared_ptr<const SourceObject> kept() const;

  int descriptor() const { return object_->get(); }
  const std::string& name() const { return name_; }
  struct stat stat() const;
  /// Like stat(), but asks the filesystem anew. To be used after our own change.
  struct stat stat_anew() const;
  /// For a directory: returns the lstat(2) of an entry; nullopt if it does not exist.
  std::optional<struct stat> stat(const std::string& entry) const;
  /// Adds O_CLOEXEC and O_NONBLOCK to `flags`: a fifo must not block the daemon.
  frame::UniqueFd open(int flags) const;
  /// Like open(), but without changing the access time, where that is permitted.
  frame::UniqueFd open_noatime(int flags) const;
  /// Returns a descriptor for reading and writing: the one that the file was made with, or a new
  /// one from open_noatime().
  frame::SharedFd open_to_write() const;
  /// Identity of the file, if this mount has made it and the object still has that descriptor.
  const std::optional<Identity>& made() const { return made_; }
  /// As access(2), but checks the rights of the identity that the thread has now (AT_EACCESS).
  /// Throws if access is denied.
  void check_access(int mask) const;

  // The functions below that take a Change act as its caller (fs/source/local/files/on_behalf.hpp).

  void set_mode(const Change& change, mode_t mode) const;
  /// uid_t{-1} and gid_t{-1} leave the owner or the group unchanged.
  void set_owner(const Change& change, uid_t owner, gid_t group) const;
  /// UTIME_NOW and UTIME_OMIT work as in utimensat(2).
  void set_times(const Change& change, const timespec& accessed, const timespec& modified) const;

  /// Returns the names of the extended attributes; none if the filesystem does not support them.
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
  std::optional<struct stat> last_;  ///< attributes to return once the filesystem reports none
  std::optional<Identity> made_;
};

}  // namespace bloscfs::fs
