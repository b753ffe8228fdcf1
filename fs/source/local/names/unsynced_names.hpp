#pragma once
// Remembers full names that were given up, as long as a power cut might bring them back. If one
// came back next to another full name with the same shown name, neither would be shown as before.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/tree/names_work.hpp"
#include "fs/source/naming.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Used by operations that hold the lock on names exclusively. A function that returns a Need asks
/// for the flush that the operation requires first. Errors are std::system_error with the errno.
class UnsyncedNames {
 public:
  explicit UnsyncedNames(const SourceRoot& root);

  /// To be called before a change that gives up names. If many are noted, makes all of them
  /// durable. Logs a failure, and tries again only when as many more are noted.
  ///
  /// This only bounds the memory. A flush clears only names that were noted before it began, so it
  /// does not matter which change asks for it.
  Need before_giving_up(NamesWork& work);
  /// Notes a name that an operation has given up. This and the other note functions must be called
  /// after the change. Otherwise a flush that misses the change could clear its note.
  void note(const SourceDirectory& directory, const std::string& full_name, ShownAs shown);
  /// Notes a name that an object has got by an exchange. Until the exchange is durable, a power cut
  /// may undo it but keep a later rename over the name. That would destroy the object that had the
  /// name before.
  void note_exchanged(const SourceDirectory& directory, const std::string& full_name,
                      ShownAs shown);
  /// Notes a file that loses one of several names.
  void note_link(const struct stat& file);
  /// To be called before another file replaces `file`. Makes it durable that names of `file` are
  /// gone. Otherwise a power cut could bring them back with the old contents.
  Need before_replacing(NamesWork& work, const struct stat& file);
  /// To be called before an object gets a full name. Makes it durable that other full names with
  /// the same shown name are gone.
  Need before_taking(NamesWork& work, const SourceDirectory& directory,
                     const std::string& full_name, ShownAs shown);

 private:
  using Shown = std::tuple<dev_t, ino_t, std::string>;  ///< directory, and shown name

  static Shown key(const SourceDirectory& directory, const std::string& full_name, ShownAs shown);

  struct GivenUp {
    std::set<std::string> full_names;  ///< contains an empty one after an exchange
    std::uint64_t noted = 0;           ///< sequence number of the last note
  };

  void note(const Shown& shown, const std::string& full_name);
  void sync_all();

  const SourceRoot& root_;
  Mutex mutex_{LockLevel::table};
  /// Limit of the notes of names and files together, which before_giving_up() checks. The change
  /// that follows may exceed it by the names that it gives up.
  std::size_t bound_ GUARDED_BY(mutex_);
  std::uint64_t noted_ GUARDED_BY(mutex_) = 0;
  std::map<Shown, GivenUp> names_ GUARDED_BY(mutex_);
  std::map<std::pair<dev_t, ino_t>, std::uint64_t> files_ GUARDED_BY(mutex_);  ///< sequence numbers
};

}  // namespace bloscfs::fs
