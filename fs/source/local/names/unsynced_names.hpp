#pragma once
// Full names that were given up, as long as a power cut might bring them back. Beside another one
// that is shown alike by then, neither would be shown as before.

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

/// For the operation that has names locked alone. What has to be durable before it goes on is its
/// Need. Errors are std::system_error with the errno.
class UnsyncedNames {
 public:
  explicit UnsyncedNames(const SourceRoot& root);

  /// Before a change that gives up names: where many are noted, makes all durable. A failure is
  /// logged, and tried again when as many more are noted. A name is forgotten only by a flush that
  /// began after it was noted, so that it does not matter which change asks for it: the bound is
  /// one of memory alone.
  Need before_giving_up(NamesWork& work);
  /// Before a name goes.
  void note(const SourceDirectory& directory, const std::string& full_name, ShownAs shown);
  /// After something got a name by an exchange. As long as a power cut might undo that, whatever
  /// takes its place there might take the place of the one before.
  void note_exchanged(const SourceDirectory& directory, const std::string& full_name,
                      ShownAs shown);
  /// Before one of several names of a file goes.
  void note_link(const struct stat& file);
  /// Before another file takes the place of one: makes it durable that names of it are gone. Else
  /// they would come back with the file as it was before.
  Need before_replacing(NamesWork& work, const struct stat& file);
  /// Before something gets a name: makes it durable that others, shown alike, have left.
  Need before_taking(NamesWork& work, const SourceDirectory& directory,
                     const std::string& full_name, ShownAs shown);

 private:
  using Shown = std::tuple<dev_t, ino_t, std::string>;  ///< directory, and name in the mount

  static Shown key(const SourceDirectory& directory, const std::string& full_name, ShownAs shown);

  struct GivenUp {
    std::set<std::string> full_names;  ///< an empty one where it was exchanged
    std::uint64_t noted = 0;           ///< number of the last of them
  };

  void note(const Shown& shown, const std::string& full_name);
  void sync_all();

  const SourceRoot& root_;
  Mutex mutex_{LockLevel::table};
  /// Of names and files together. A change that has begun may exceed it by what it gives up.
  std::size_t bound_ GUARDED_BY(mutex_);
  std::uint64_t noted_ GUARDED_BY(mutex_) = 0;
  std::map<Shown, GivenUp> names_ GUARDED_BY(mutex_);
  std::map<std::pair<dev_t, ino_t>, std::uint64_t> files_ GUARDED_BY(mutex_);  ///< when noted
};

}  // namespace bloscfs::fs
