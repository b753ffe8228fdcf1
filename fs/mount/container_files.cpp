#include "fs/mount/container_files.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>

#include "codec/error.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {

std::shared_ptr<FileHandle> ContainerFiles::open(NodeId node, const SourceEntry& entry, int flags) {
  auto file = services_.tree.opened_as<OpenContainer>(node);
  if (file && file->content->is_overtaken()) {
    services_.contents.follow(node);
    frame::throw_errno(ESTALE, "changed by another program");
  }
  if (!file) file = services_.contents.open(node, entry);
  if ((flags & O_ACCMODE) != O_RDONLY) return open_for_writing(node, file, flags);
  return std::make_shared<ContainerHandle>(services_, node, flags, std::move(file));
}

std::shared_ptr<FileHandle> ContainerFiles::open_for_writing(
    NodeId node, const std::shared_ptr<const OpenContainer>& file, int flags) {
  auto handle = std::make_shared<ContainerWriter>(services_, node, flags, file);
  require_changeable(node, *file->content);
  handle->begin(names_.home(node));
  try {
    // The node may have given way to another one meanwhile.
    if (services_.tree.opened(node) != file)
      frame::throw_errno(ESTALE, "changed by another program");
    if ((flags & O_TRUNC) != 0) handle->truncate(0);
  } catch (...) {
    handle->close();
    throw;
  }
  return handle;
}

void ContainerFiles::require_changeable(NodeId node, const Content& content) {
  try {
    content.require_changeable(*names_.home(node));
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::read_only_file_system ||
        dynamic_cast<const codec::Error*>(&error) != nullptr)
      services_.reading.log_bad_data(services_.tree.told_path(node), error);
    throw;
  }
}

void ContainerFiles::resize(NodeId node, std::int64_t size) {
  require_changeable(node, *services_.contents.open(node)->content);
  services_.contents.resize(node, names_.home(node), size);
}

}  // namespace bloscfs::fs
