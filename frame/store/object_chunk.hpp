#pragma once
// A new chunk of a sparse frame, stored as an object of its own.

#include <memory>
#include <string>

#include "frame/store/object_frame_services.hpp"

namespace bloscfs::frame::inline store {

/// A chunk is written once, in full. write_at() starts the PUT. sync() waits until the object store
/// has the object, and throws EEXIST if another host has used the same chunk number. After EEXIST,
/// read_at() still returns the chunk's bytes, so that the commit can store them under another
/// number.
class ObjectChunk final : public StoreFile {
 public:
  ObjectChunk(std::shared_ptr<ObjectFrameServices> services, std::string path)
      : services_(std::move(services)), path_(std::move(path)) {}

  /// True if another host has stored an object of this name.
  bool is_taken() const { return upload_ && upload_->is_taken(); }

  void write_at(std::uint64_t offset, Bytes bytes) override;
  void sync() override;
  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override;
  FileStamp stamp() const override;

  void truncate(std::uint64_t size) override;
  void punch(std::uint64_t offset, std::uint64_t size) override;
  std::uint64_t link_count() const override { return 1; }
  FileAttributes attributes() const override { return {}; }
  void set_attributes(const FileAttributes&) override {}
  void set_times(const timespec&, const timespec&) override {}
  bool is_sole_user() const override { return false; }

 private:
  const std::shared_ptr<ObjectFrameServices> services_;
  const std::string path_;
  std::unique_ptr<ObjectUploads::Upload> upload_;  ///< null before write_at()
};

}  // namespace bloscfs::frame::inline store
