#pragma once
// Handles of contents that nobody changes through the mount.

#include <memory>
#include <string>
#include <utility>

#include "fs/mount/content_handle.hpp"

namespace bloscfs::fs {

/// Of what stores hold, and of objects.
class FixedContentHandle final : public ContentHandle {
 public:
  FixedContentHandle(const ReadingServices& services, NodeId node, int flags,
                     std::shared_ptr<const OpenContainer> file, std::string told_path)
      : ContentHandle(services, node, flags, std::move(file)), told_path_(std::move(told_path)) {}

 private:
  std::string told_path() const override { return told_path_; }

  const std::string told_path_;
};

}  // namespace bloscfs::fs
