#pragma once
// Handles of objects that are shown as they are.

#include <memory>
#include <string>
#include <utility>

#include "frame/store/object_tree.hpp"
#include "fs/source/file_handle.hpp"
#include "fs/source/services.hpp"

namespace bloscfs::fs {

/// Opened for reading.
class ObjectHandle final : public FileHandle {
 public:
  ObjectHandle(const SourceServices& services, NodeId node, int flags, const struct stat& shown,
               std::shared_ptr<const frame::ObjectSource> object, std::string told_path)
      : FileHandle(node, flags),
        services_(services),
        shown_(shown),
        object_(std::move(object)),
        told_path_(std::move(told_path)) {}

  struct stat attributes() const override {
    return shown_;
  }
  ReadBytes read(std::int64_t offset, std::int64_t size) override;
  /// All of it is data.
  std::int64_t seek(std::int64_t offset, int whence) const override;
  bool has_writers() const override { return false; }
  void sync() override {}

 private:
  const SourceServices& services_;
  const struct stat shown_;
  const std::shared_ptr<const frame::ObjectSource> object_;
  const std::string told_path_;
};

}  // namespace bloscfs::fs
