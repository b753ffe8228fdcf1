#pragma once
// What a session mounts, in the steps of its beginning: a SOURCE of files, or one of objects.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "fs/fuse/session_settings.hpp"
#include "fs/mount/mount.hpp"
#include "fs/sandbox/sandbox.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/support/page_pool.hpp"
#include "fs/support/worker_pool.hpp"

namespace bloscfs::fs {

/// In this order, each once. Errors: as run_session()'s.
class SessionSource {
 public:
  virtual ~SessionSource() = default;

  /// Before the mount. May make it read-only.
  virtual void open(Sandbox& sandbox, SessionSettings& settings) = 0;
  /// What the mount table is to tell of it.
  virtual std::string name(const SessionSettings& settings) const = 0;
  /// After the mount, where it could be found: what `mount` is.
  virtual void see_mount(const std::optional<MountEntry>& mount,
                         const SessionSettings& settings) = 0;
  /// Closes the sandbox, before the first thread.
  virtual void close(Sandbox& sandbox, const MountOptions& options) = 0;
  /// Everything that was given outlives the result.
  virtual std::unique_ptr<Mount> show(const MountOptions& options, const WorkerCounts& workers,
                                      PagePool& pages, const frame::Clock& clock) = 0;
  /// Something could not be committed.
  virtual void leave_unfinished() {}
};

std::unique_ptr<SessionSource> make_file_source();
std::unique_ptr<SessionSource> make_object_source(std::shared_ptr<const ObjectSetting> objects);

}  // namespace bloscfs::fs
