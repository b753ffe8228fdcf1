#pragma once
// Handles of what stores hold, opened for reading.

#include <memory>
#include <string>
#include <utility>

#include "fs/mount/container_handle.hpp"

namespace bloscfs::fs {

class StoreLeafHandle final : public ContainerHandle {
 public:
  StoreLeafHandle(const ContainerServices& services, NodeId node, int flags,
                  std::shared_ptr<const OpenContainer> file, std::string told_path)
      : ContainerHandle(services, node, flags, std::move(file)), told_path_(std::move(told_path)) {}

  /// Those of the state that was opened: nobody changes it.
  struct stat attributes() const override {
    return file_->attributes;
  }
  void sync() override {}
  void close() override {}

 private:
  std::string told_path() const override { return told_path_; }

  const std::string told_path_;
};

}  // namespace bloscfs::fs
