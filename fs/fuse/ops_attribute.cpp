// FUSE operations on extended attributes.

#include <cerrno>
#include <optional>
#include <string>

#include "fs/fuse/far_limits.hpp"
#include "fs/fuse/in_turn.hpp"
#include "fs/fuse/mount_attributes.hpp"
#include "fs/fuse/reply.hpp"
#include "fs/fuse/watched_operation.hpp"
#include "fs/support/request_limits.hpp"
#include "fs/view/attributes.hpp"

namespace bloscfs::fs {
namespace {

/// A size of 0 asks for the length alone.
void reply_sized(fuse_req_t request, const std::string& value, std::size_t size) {
  if (size == 0)
    fuse_reply_xattr(request, value.size());
  else if (value.size() > size)
    fuse_reply_err(request, ERANGE);
  else
    fuse_reply_buf(request, value.data(), value.size());
}

void op_getxattr(fuse_req_t request, fuse_ino_t inode, const char* name, std::size_t size) {
  // The kernel asks for security.capability before each write, which is worth no exception.
  if (!is_in_shown_space(name)) {
    fuse_reply_err(request, EOPNOTSUPP);
    return;
  }
  in_turn(request, inode, "getxattr", [=, name = std::string(name)] {
    const RequestLimits limits([request] { return fuse_req_interrupted(request) != 0; });
    std::optional<std::string> value;
    if (inode == kRootId) value = mount_attribute(request, name);
    if (!value) value = mount_of(request).attribute(inode, name);
    reply_sized(request, *value, size);
  });
}

void op_listxattr(fuse_req_t request, fuse_ino_t inode, std::size_t size) {
  in_turn(request, inode, "listxattr", [=] {
    const RequestLimits limits([request] { return fuse_req_interrupted(request) != 0; });
    std::string list;
    for (const std::string& name : mount_of(request).extended_attributes().list(inode)) {
      list += name;
      list += '\0';
    }
    reply_sized(request, list, size);
  });
}

void op_setxattr(fuse_req_t request, fuse_ino_t inode, const char* name, const char* value,
                 std::size_t size, int flags) {
  in_turn(
      request, inode, "setxattr", [=, name = std::string(name), value = std::string(value, size)] {
        const FarLimits limits(request, inode);
        mount_of(request).extended_attributes().set(inode, name, &value, flags, caller_of(request));
        fuse_reply_err(request, 0);
      });
}

void op_removexattr(fuse_req_t request, fuse_ino_t inode, const char* name) {
  in_turn(request, inode, "removexattr", [=, name = std::string(name)] {
    const FarLimits limits(request, inode);
    mount_of(request).extended_attributes().set(inode, name, nullptr, 0, caller_of(request));
    fuse_reply_err(request, 0);
  });
}

}  // namespace

void add_attribute_operations(fuse_lowlevel_ops& ops) {
  ops.getxattr = watched<Operation::getxattr, op_getxattr>;
  ops.listxattr = watched<Operation::listxattr, op_listxattr>;
  ops.setxattr = watched<Operation::setxattr, op_setxattr>;
  ops.removexattr = watched<Operation::removexattr, op_removexattr>;
}

}  // namespace bloscfs::fs
