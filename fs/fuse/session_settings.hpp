#pragma once
// The settings of a session: SOURCE, mountpoint and options.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frame/store/clock.hpp"
#include "frame/store/object_tree.hpp"
#include "fs/options/options.hpp"

namespace bloscfs::fs {

/// How to access a SOURCE of objects.
struct ObjectSetting {
  std::string shown;  ///< SOURCE without secrets, for the mount table and messages
  bool is_writable = false;
  /// Files that the daemon reads while it serves, such as certificates, in addition to the
  /// system's.
  std::vector<std::string> files;
  /// Existing folders that the daemon writes to.
  std::vector<std::string> folders;
  /// Starts threads, so it must be called after the sandbox is closed. Throws an exception with a
  /// message for the user.
  std::function<std::shared_ptr<frame::ObjectTree>()> open;
};

enum class MountPhase {
  works,
  ends,  ///< serves no requests any more; the last commits are made
};

struct SessionSettings {
  std::string version;  ///< of the program, for the log and --list
  std::string source;
  std::string mountpoint;
  bool foreground = false;
  bool debug = false;  ///< libfuse's debugging output; implies foreground
  MountOptions options;
  std::shared_ptr<const ObjectSetting> objects;  ///< null: SOURCE is a path
  /// Called at the beginning of each phase, inside the sandbox. May be null.
  std::function<void(MountPhase)> tell;
  const frame::Clock* clock = &frame::system_clock();  ///< outlives the session
};

}  // namespace bloscfs::fs
