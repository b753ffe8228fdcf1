#pragma once
// The few rights of root that a daemon keeps.

namespace bloscfs::fs {

/// Takes from the process, which has one thread, all capabilities but those that serving a mount
/// needs, also from what a program could get that it executed. Reading needs those to find and read
/// everything; writing needs those to act as others (fs/source/local/files/on_behalf.hpp), and to
/// make and give away whatever they may. A process without capabilities has none afterwards,
/// either. Throws std::system_error.
struct NeededCapabilities {
  bool writes = false;
  bool devices = false;         ///< makes some, CAP_MKNOD
  bool trusted_xattrs = false;  ///< CAP_SYS_ADMIN
};
void keep_needed_capabilities(const NeededCapabilities& needed);

/// The same where SOURCE is none of files: nothing is needed.
void keep_no_capabilities();

}  // namespace bloscfs::fs
