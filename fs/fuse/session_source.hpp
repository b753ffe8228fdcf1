#pragma once
// The source of a session: files or objects. Its functions are the steps of the session's start.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/fuse/session_settings.hpp"
#include "fs/mount/mount.hpp"
#include "fs/sandbox/sandbox.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/support/page_pool.hpp"
#include "fs/support/worker_pool.hpp"

namespace bloscfs::fs {

/// The functions are called in this order, each once. They throw what run_session() throws.
class SessionSource {
 public:
  virtual ~SessionSource() = default;

  /// Called before the mount. May make the mount read-only, in `settings`.
  virtual void open(Sandbox& sandbox, SessionSettings& settings) = 0;
  /// Returns what the user should know about SOURCE, one line each.
  virtual std::vector<std::string> notices() const = 0;
  /// Returns the name for the mount table.
  virtual std::string name(const SessionSettings& settings) const = 0;
  /// Called after the mount, with its entry in the mount table, if that was found.
  virtual void on_mounted(const std::optional<MountEntry>& mount,
                          const SessionSettings& settings) = 0;
  /// Closes the sandbox. Called before the first thread is started.
  virtual void close(Sandbox& sandbox, const MountOptions& options) = 0;
  /// The arguments and this object outlive the result.
  virtual std::unique_ptr<Mount> show(const MountOptions& options, const WorkerCounts& workers,
                                      PagePool& pages, const frame::Clock& clock) = 0;
  /// Called if something could not be committed.
  virtual void leave_unfinished() {}
};

std::unique_ptr<SessionSource> make_file_source();
std::unique_ptr<SessionSource> make_object_source(std::shared_ptr<const ObjectSetting> objects);

}  // namespace bloscfs::fs
