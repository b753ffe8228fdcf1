#pragma once
// What the daemon, which decodes files that anybody may have made, can reach: SOURCE and its mount,
// even when such a file has made it run somebody's code.
//
// In this order, each layer where the kernel has it: a mount namespace in which there is SOURCE
// alone, or what connections take (root's, since a user namespace would show the owners of files as
// nobody), the capabilities that serving takes, no new privileges and no dumps, Landlock, seccomp.
// A janitor outside of it unmounts, which the daemon no longer can.

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
  /// To be made before anything is locked or mounted. With `automatic` there is no sandbox where
  /// there can be no janitor. Throws std::runtime_error with a message for the user.
  Sandbox(SandboxPolicy policy, const std::string& mountpoint);

  /// Null where the daemon unmounts by itself.
  Janitor* janitor() { return janitor_ ? &*janitor_ : nullptr; }

  /// open_source(); what is opened below the result does not lead out of it, where it can be had.
  MountSource open(const std::string& path, const MountOptions& options);

  /// After the mount, and before the first thread: from here on the process can reach no more than
  /// it needs. With `automatic`, a layer that cannot be had is left out and logged; with `required`
  /// it throws std::runtime_error, with a message for the user.
  void close(MountSource& source, const MountOptions& options);

  /// The same without a SOURCE of files: what is left are connections to others, looking up where
  /// to, `files` (or folders) to read, and `folders` to write.
  void close_for_network(const std::vector<std::string>& files,
                         const std::vector<std::string>& folders);

 private:
  template <typename Work>
  bool apply(const char* layer, const Work& work) const;
  void enter_namespace(MountSource& source, OtherMounts others);

  const SandboxPolicy policy_;
  std::optional<Janitor> janitor_;
  frame::UniqueFd outer_root_;  ///< while the namespace is still to be entered
};

}  // namespace bloscfs::fs
