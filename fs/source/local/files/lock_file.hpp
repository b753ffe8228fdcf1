#pragma once
// The hidden file that lets only one bloscfs program at a time write to a SOURCE.

#include <optional>
#include <string>

#include <sys/types.h>

#include "frame/store/byte_source.hpp"
#include "fs/source/local/files/source_directory.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// The lock file of a SOURCE: ".bloscfs-lock" inside a directory, ".NAME.bloscfs-lock" next to a
/// single frame. Other users may have put anything under that name, so these rules hold:
/// - A lock file is a regular file with one name and mode 0600. A process owns SOURCE if it holds
///   the OFD lock on the file, and the file still has its name. Only the holder of the lock removes
///   the file.
/// - A file of the daemon's own user is trusted, since no other user can have written to it. The
///   exception is a frame of a mount for others (fs/source/local/files/journal.hpp).
/// - The lock on another user's file counts, too, but the contents of that file do not. Only root
///   can open such a file; for other users SOURCE is busy as long as the file exists.
/// - Anything else under that name (a symlink, a fifo, a directory, a hard link, a file with other
///   permissions) is no lock file. The daemon never reads or writes it, nor another user's unlocked
///   file. The daemon moves such an object to a displaced name that was made for another object, so
///   that no sweep takes it for a leftover. It moves the object back when the lock file is removed.
///
/// The modification time of the directory does not change. All changes are made as the daemon.
/// Errors are std::system_error.
class LockFile {
 public:
  LockFile(const SourceDirectory& directory, std::string name)
      : directory_(directory), name_(std::move(name)) {}

  enum class Attempt {
    taken,
    busy,
    impossible,  ///< the lock file cannot be made, or cannot be locked
  };
  /// Tries once to take the lock. Makes the lock file if there is none, and moves away an object
  /// that is no lock file.
  Attempt try_take(const Change& change);
  /// Returns the user of the lock file; nullopt if there is none.
  std::optional<uid_t> owner() const;
  /// True if a file with that name exists and is trusted.
  bool is_trusted() const;
  /// Takes the lock only if a trusted file exists. Creates and moves nothing.
  bool try_take_present();

  /// The locked file, open for reading and writing; invalid while the lock is not taken.
  const frame::UniqueFd& descriptor() const { return locked_; }
  /// The owner of the lock file at the last attempt, if it was another user's.
  std::optional<uid_t> other_user() const { return other_user_; }
  /// The name that the previous object under name() was moved to; empty if nothing was moved.
  const std::string& displaced() const { return displaced_; }
  const std::string& name() const { return name_; }

  /// Removes the file while it is still locked. descriptor() stays open.
  void remove(const Change& change);

 private:
  Attempt make(const Change& change);
  Attempt hold(frame::UniqueFd file, bool was_made);
  Attempt take_over(const Change& change, const struct stat& found);
  Attempt replace(const Change& change, const struct stat& found);
  void exchange_back(const Change& change, const std::string& displaced,
                     const frame::UniqueFd& own) const;
  bool is_named(const frame::UniqueFd& file, const std::string& name) const;

  SourceDirectory directory_;
  std::string name_;
  std::string displaced_;
  std::optional<uid_t> other_user_;
  frame::UniqueFd locked_;
};

}  // namespace bloscfs::fs
