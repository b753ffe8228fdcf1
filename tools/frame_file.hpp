#pragma once
// A frame that b2frame changes in place.

#include <memory>
#include <string>

#include "frame/frame_writer.hpp"
#include "fs/mount_lock.hpp"

namespace bloscfs::tools {

/// While one lives nobody mounts the frame for writing.
class FrameFile {
 public:
  /// Waits until a mount of it that has ended is done with it. Throws Error, also for what can only
  /// be read, std::system_error, and std::runtime_error when it is mounted for writing.
  explicit FrameFile(const std::string& path);

  frame::FrameWriter& writer() { return *writer_; }

 private:
  fs::MountLock lock_;
  std::unique_ptr<frame::FrameWriter> writer_;
};

}  // namespace bloscfs::tools
