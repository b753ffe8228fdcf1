#include "fs/mount/mounted_files.hpp"

#include <cerrno>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

[[noreturn]] void refuse_change(const std::string& name = {}) { frame::throw_errno(EROFS, name); }

}  // namespace

Tree::Found MountedFiles::create_file(NodeId, const std::string& name, mode_t, const Caller&) {
  refuse_change(name);
}

Tree::Found MountedFiles::make_directory(NodeId, const std::string& name, mode_t, const Caller&) {
  refuse_change(name);
}

Tree::Found MountedFiles::make_symlink(NodeId, const std::string& name, const std::string&,
                                       const Caller&) {
  refuse_change(name);
}

Tree::Found MountedFiles::make_special(NodeId, const std::string& name, mode_t, dev_t,
                                       const Caller&) {
  refuse_change(name);
}

Tree::Found MountedFiles::make_link(NodeId, NodeId, const std::string& name, const Caller&) {
  refuse_change(name);
}

void MountedFiles::remove_file(NodeId, const std::string& name, const Caller&) {
  refuse_change(name);
}

void MountedFiles::remove_directory(NodeId, const std::string& name, const Caller&) {
  refuse_change(name);
}

void MountedFiles::rename(NodeId, const std::string& from_name, NodeId, const std::string&,
                          unsigned, const Caller&) {
  refuse_change(from_name);
}

void MountedFiles::drop_privileges(NodeId, const Caller&) { refuse_change(); }

void MountedFiles::set_attributes(NodeId, NewAttributes, const Caller&) { refuse_change(); }

void MountedFiles::resize(NodeId, std::int64_t) { refuse_change(); }

void MountedFiles::set_attribute(NodeId, const std::string& name, const std::string&, int,
                                 const Caller&) {
  refuse_change(name);
}

void MountedFiles::remove_attribute(NodeId, const std::string& name, const Caller&) {
  refuse_change(name);
}

void MountedFiles::commit_written() { refuse_change(); }

}  // namespace bloscfs::fs
