#pragma once
// Handles of objects whose bytes the mount shows as they are.

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include <unistd.h>

#include "frame/store/object_tree.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/file_handle.hpp"
#include "fs/source/services.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// Reads an object whose bytes are shown as they are.
class ObjectHandle final : public FileHandle {
 public:
  ObjectHandle(Request& request, const SourceServices& services, NodeId node, int flags,
               const struct stat& shown, std::shared_ptr<const frame::ObjectSource> object,
               std::string display_path)
      : FileHandle(node, flags),
        services_(services),
        shown_(shown),
        object_(std::move(object)),
        held_(request, services.content.cache.budget(), object_->memory()),
        display_path_(std::move(display_path)) {}

  struct stat attributes(Request&) const override {
    return shown_;
  }
  ReadBytes read(Request& request, std::int64_t offset, std::int64_t size) override {
    ReplyData out(services_.content.cache.pages(), services_.direct_handles == 0);
    const std::int64_t end = shown_.st_size;
    if (offset >= end) return out;
    if (!object_->is_in_memory()) request.need_slot();
    try {
      const codec::MutableBytes room =
          out.add_owned(static_cast<std::size_t>(std::min(size, end - offset)));
      object_->read_exactly_at(static_cast<std::uint64_t>(offset), room, "object");
      services_.content.stats.contents_bytes_read += out.size();
    } catch (const std::exception& error) {
      if (is_interruption(error)) throw;
      services_.content.stats.io_errors++;
      services_.log_bad_data(request, display_path_, error);
      throw;
    }
    return out;
  }
  /// Reports the whole file as data.
  std::int64_t seek(Request&, std::int64_t offset, int whence) const override {
    if (offset >= shown_.st_size) frame::throw_errno(ENXIO, "lseek");
    return whence == SEEK_DATA ? offset : shown_.st_size;
  }
  bool has_writers() const override { return false; }
  void sync(Request&) override {}

 private:
  const SourceServices& services_;
  const struct stat shown_;
  const std::shared_ptr<const frame::ObjectSource> object_;
  const MemoryBudget::Held held_;
  const std::string display_path_;
};

}  // namespace bloscfs::fs
