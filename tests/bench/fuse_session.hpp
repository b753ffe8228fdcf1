#pragma once
// How filesystems that bloscfs is compared with are served: as it serves itself.

#include <string>

#include <fuse_lowlevel.h>

namespace bloscfs::bench {

/// How long the kernel may keep answers.
inline constexpr double kCacheSeconds = 1.0;

/// Requests of the sizes that bloscfs takes.
void set_request_sizes(fuse_conn_info& connection);

/// In the foreground, until it is unmounted or told to end; the status of the program. `options`
/// are mount options beside those.
int serve(const std::string& name, const std::string& options, const fuse_lowlevel_ops& operations,
          const char* mountpoint);

}  // namespace bloscfs::bench
