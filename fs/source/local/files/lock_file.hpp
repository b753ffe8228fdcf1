#pragma once
// The hidden file by which one bloscfs program at a time writes to a SOURCE.

#include <optional>
#include <string>

#include <sys/types.h>

#include "frame/store/byte_source.hpp"
#include "fs/source/local/files/source_directory.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// ".bloscfs-lock" in a directory that is a SOURCE, ".NAME.bloscfs-lock" beside a single frame.
/// Others may have put anything there, so that these rules hold:
/// - It is a regular file of one name with mode 0600. Whoever holds its OFD lock, and finds it
///   still under its name, has SOURCE to himself. The file is only ever removed by who holds the
///   lock.
/// - What the daemon's own user has made is trusted: nobody else can have written to it, unless it
///   is a frame of a mount for others (fs/source/local/files/journal.hpp).
/// - The lock on a file of another user counts, too, but not what is in it. Only root can open it;
///   others find SOURCE busy as long as it is there.
/// - Anything else of that name (a symlink, a fifo, a directory, a hard link, a file with other
///   permissions) is no lock. That, or another user's file that is not locked, is never read or
///   written: it is moved displaced, to a temporary's name that no sweep believes, and comes back
///   when the lock file is removed.
/// The directory keeps its time of modification. Changes are the daemon's. Errors are
/// std::system_error.
class LockFile {
 public:
  LockFile(const SourceDirectory& directory, std::string name)
      : directory_(directory), name_(std::move(name)) {}

  enum class Attempt {
    taken,
    busy,
    impossible,  ///< no such file can be made, or locked, there
  };
  Attempt try_take(const Change& change);
  /// True if there is a file that is trusted.
  bool is_trusted() const;
  /// Takes that, and makes and moves nothing.
  bool try_take_present();

  /// While it is taken: open for reading and writing.
  const frame::UniqueFd& descriptor() const { return locked_; }
  /// The other user whose file was found at the last attempt, if it was one's.
  std::optional<uid_t> other_user() const { return other_user_; }
  /// Where what was found under the name is meanwhile; empty if there was nothing.
  const std::string& displaced() const { return displaced_; }
  const std::string& name() const { return name_; }

  /// Removes the file, which is still locked then; descriptor() stays open.
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
