#pragma once
// What a directory holds that the mount does not show, when the directory is to be removed.

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "fs/source/local/files/lock_file.hpp"
#include "fs/source/local/names/leftovers.hpp"
#include "fs/source/local/names/name_services.hpp"

namespace bloscfs::fs {

/// For one directory and one request; the rules are Removal::clear's.
class HiddenEntries {
 public:
  HiddenEntries(const SourceDirectory& directory, NameServices& services, uid_t user);

  /// Takes note of an entry, whatever it is. `is_of_store`: it belongs to the store that the
  /// directory is in, so that only who may remove it otherwise removes it by this: EACCES.
  /// ENOTEMPTY for what stays.
  void add(const std::string& name, bool is_of_store);
  /// Removes all that was noted, or throws and removes nothing. What takes long to remove goes from
  /// the directory, and is gone when what is returned is destroyed.
  std::vector<std::shared_ptr<void>> remove();

 private:
  void lock_journal(const std::string& name);
  void judge(const std::string& name);
  bool is_users(const struct stat& st) const;

  const SourceDirectory& directory_;
  NameServices& services_;
  const uid_t user_;
  TemporaryMakers makers_;
  std::vector<std::string> journals_, temporaries_;
  std::list<LockFile> locks_;
  std::vector<Leftover> leftovers_;
};

}  // namespace bloscfs::fs
