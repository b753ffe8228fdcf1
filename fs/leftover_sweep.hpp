#pragma once
// Removes what a mount that ended suddenly has left unfinished in SOURCE.

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fs/source_root.hpp"
#include "fs/tree_changes.hpp"

namespace bloscfs::fs {

/// Walks through all of SOURCE in the background: temporaries go that have not been changed since
/// this mount began, and chunk files that their sparse frame does not name. What another writable
/// mount, of a directory above or below, may still be working on is left alone, and what an earlier
/// one has kept for `b2frame recover` is named in the log. Nothing that the walk meets is an error.
class LeftoverSweep {
 public:
  /// `single`: the name of a mount's only container; what is beside that is not the mount's.
  LeftoverSweep(const SourceRoot& root, Tree& tree, const std::optional<std::string>& single);
  /// Ends it where it is.
  ~LeftoverSweep();
  LeftoverSweep(const LeftoverSweep&) = delete;
  LeftoverSweep& operator=(const LeftoverSweep&) = delete;

 private:
  using Entries = std::vector<SourceRoot::Entry>;

  void walk(std::vector<std::string> directories);
  void clear(const std::string& path, const Entries& entries);
  void spare_kept(const std::string& path, const std::vector<std::string>& journals,
                  std::vector<std::string>& temporaries) const;
  void remove_temporary(const std::string& path, const std::string& name);
  void remove_orphans(const std::string& path, const Entries& entries);
  bool is_old(const struct stat& st) const;

  const SourceRoot& root_;
  Tree& tree_;
  const std::string first_;  ///< what is locked by this mount
  timespec began_{};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace bloscfs::fs
