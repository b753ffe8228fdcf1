// FUSE operations on extended attributes.

#include <cerrno>
#include <optional>
#include <string>

#include "fs/fuse/mount_attributes.hpp"
#include "fs/fuse/reply.hpp"
#include "fs/fuse/serve.hpp"
#include "fs/view/attributes.hpp"

namespace bloscfs::fs {
namespace {

/// A `size` of 0 asks for the length only.
void reply_sized(fuse_req_t request, const std::string& value, std::size_t size) {
  if (size == 0)
    fuse_reply_xattr(request, value.size());
  else if (value.size() > size)
    fuse_reply_err(request, ERANGE);
  else
    fuse_reply_buf(request, value.data(), value.size());
}

void op_getxattr(fuse_req_t raw, fuse_ino_t inode, const char* name, std::size_t size) {
  // Refuses other name spaces without an exception, which would be too expensive: the kernel asks
  // for security.capability before each write.
  if (!has_supported_namespace(name)) {
    fuse_reply_err(raw, EOPNOTSUPP);
    return;
  }
  serve(raw, inode, Operation::getxattr, [=, name = std::string(name)](KernelRequest& request) {
    request.limit();
    std::optional<std::string> value;
    if (inode == kRootId) value = mount_attribute(request, name);
    if (!value) value = mount_of(request).attribute(request, inode, name);
    reply_sized(request, *value, size);
  });
}

void op_listxattr(fuse_req_t raw, fuse_ino_t inode, std::size_t size) {
  serve(raw, inode, Operation::listxattr, [=](KernelRequest& request) {
    request.limit();
    std::string list;
    for (const std::string& name : mount_of(request).extended_attributes().list(request, inode)) {
      list += name;
      list += '\0';
    }
    reply_sized(request, list, size);
  });
}

void op_setxattr(fuse_req_t raw, fuse_ino_t inode, const char* name, const char* value,
                 std::size_t size, int flags) {
  serve(raw, inode, Operation::setxattr,
        [=, name = std::string(name), value = std::string(value, size)](KernelRequest& request) {
          request.limit_if_far(inode);
          mount_of(request).extended_attributes().set(request, inode, name, &value, flags);
          fuse_reply_err(request, 0);
        });
}

void op_removexattr(fuse_req_t raw, fuse_ino_t inode, const char* name) {
  serve(raw, inode, Operation::removexattr, [=, name = std::string(name)](KernelRequest& request) {
    request.limit_if_far(inode);
    mount_of(request).extended_attributes().set(request, inode, name, nullptr, 0);
    fuse_reply_err(request, 0);
  });
}

}  // namespace

void add_attribute_operations(fuse_lowlevel_ops& ops) {
  ops.getxattr = op_getxattr;
  ops.listxattr = op_listxattr;
  ops.setxattr = op_setxattr;
  ops.removexattr = op_removexattr;
}

}  // namespace bloscfs::fs
