#pragma once
// Removes what mounts that ended suddenly have left unfinished in SOURCE.

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fs/source/local/files/journal.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/names/leftovers.hpp"
#include "fs/source/local/tree/tree_changes.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// Walks through all of SOURCE in the background. Removes the temporaries that earlier processes
/// have left (fs/source/local/names/leftovers.hpp), and chunk files that the index of their sparse
/// frame does not name. Earlier processes are those that the journal of SOURCE names. In addition,
/// those named by the journals that the walk finds in lock files that no process has locked.
///
/// Skips directories that another writable mount, of a directory above or below, may be working on.
/// Logs which files earlier mounts have kept for `b2frame recover`. Errors do not end the walk.
/// After a complete walk, the journal of SOURCE forgets the processes that it named.
class LeftoverSweep {
 public:
  /// `single` is the name of the mount's only container; the mount's temporaries are next to it.
  /// `journal`, that of SOURCE, may be null. Must not be made where a mount of a directory above
  /// can have files in SOURCE.
  LeftoverSweep(const SourceRoot& root, Tree& tree, const std::optional<std::string>& single,
                Journal* journal);
  /// Stops the walk.
  ~LeftoverSweep();
  /// Waits until the walk is complete.
  void wait() { thread_.join(); }
  LeftoverSweep(const LeftoverSweep&) = delete;
  LeftoverSweep& operator=(const LeftoverSweep&) = delete;

 private:
  using Entries = std::vector<SourceRoot::Entry>;

  void run();
  void walk(const std::string& top);
  void visit(const std::string& path, std::vector<std::string>& below);
  std::vector<KeptFile> read_journals(const std::string& path, const Entries& entries);
  void clear_temporaries(const std::string& path, const Entries& entries,
                         const std::vector<KeptFile>& kept);
  void remove_temporary(const std::string& path, const std::string& name);
  void remove_orphans(const std::string& path, const Entries& entries);
  bool is_old(const struct stat& st) const;

  const SourceRoot& root_;
  Tree& tree_;
  const std::optional<std::string> single_;
  Journal* const journal_;
  Request request_;         ///< used only by thread_
  TemporaryMakers makers_;  ///< earlier processes known so far; used only by thread_
  timespec began_{};
  std::atomic<bool> stopping_{false};
  bool has_missed_ = false;  ///< the walk has skipped a directory; used only by thread_
  std::size_t removed_ = 0;  ///< temporaries, and chunk files of commits that were not completed
  std::thread thread_;
};

}  // namespace bloscfs::fs
