#pragma once
// Limits what the daemon can reach to SOURCE and its mount. The daemon decodes files of any origin,
// and such a file may make it run an attacker's code.
//
// There are these layers, applied in this order where the kernel supports them:
// 1. A private mount namespace with nothing but SOURCE, or what connections need. Only for root,
// since a user namespace would show the owners of files as nobody.
// 2. Only the capabilities that serving needs.
// 3. No new privileges, and no core dumps.
// 4. Landlock.
// 5. seccomp.
//
// The daemon can then no longer unmount; a janitor outside the sandbox does.

#include <optional>
#include <string>
#include <vector>

#include "fs/options/options.hpp"
#include "fs/options/sandbox_policy.hpp"
#include "fs/sandbox/janitor.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/mount_source.hpp"

namespace bloscfs::fs {

class Sandbox {
 public:
  /// To be made before anything is locked or mounted. With `automatic`, there is no sandbox if
  /// there can be no janitor. The janitor uses the absolute path `log_file`; empty for the system
  /// log. Throws std::runtime_error with a message for the user.
  Sandbox(SandboxPolicy policy, const std::string& mountpoint, const std::string& log_file);

  /// Null if the daemon unmounts by itself.
  Janitor* janitor() { return janitor_ ? &*janitor_ : nullptr; }

  /// Calls open_source(). Where possible, the result is such that ".." does not lead out of it.
  MountSource open(const std::string& path, const MountOptions& options);

  /// Restricts the process to what it needs. To be called after the mount, and before the first
  /// thread. If a layer is not available, `automatic` logs that and continues; `required` throws
  /// std::runtime_error with a message for the user.
  void close(MountSource& source, const MountOptions& options);

  /// Restricts the process as close() does, for a SOURCE that is a URL. It can make connections,
  /// look up host names, read `files` (or folders), and write to `folders`.
  void close_for_network(const std::vector<std::string>& files,
                         const std::vector<std::string>& folders);

 private:
  template <typename Work>
  bool apply(const char* layer, const Work& work) const;
  void enter_namespace(MountSource& source, const MountOptions& options);

  const SandboxPolicy policy_;
  std::optional<Janitor> janitor_;
  frame::UniqueFd outer_root_;  ///< SOURCE outside the namespace, for a failure to enter
};

}  // namespace bloscfs::fs
