#pragma once
// Serves the filesystems that bloscfs is compared with in the way that bloscfs serves itself.

#include <string>

#include <fuse_lowlevel.h>

namespace bloscfs::bench {

/// How long the kernel may cache replies.
inline constexpr double kCacheSeconds = 1.0;

/// Sets the request sizes that bloscfs uses.
void set_request_sizes(fuse_conn_info& connection);

/// Serves in the foreground until the filesystem is unmounted or gets a signal. Returns the
/// program's exit status. `options` are additional mount options.
int serve(const std::string& name, const std::string& options, const fuse_lowlevel_ops& operations,
          const char* mountpoint);

}  // namespace bloscfs::bench
