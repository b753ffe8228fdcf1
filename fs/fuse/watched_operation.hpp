#pragma once
// Operations whose requests are listed while they are served, and timed.

#include <fuse_lowlevel.h>

#include "fs/fuse/reply.hpp"
#include "fs/support/request_watch.hpp"

namespace bloscfs::fs {

/// Serves a request by `serve`, for something done at a node.
template <typename Serve>
void serve_watched(Operation operation, fuse_req_t request, fuse_ino_t inode, const Serve& serve) {
  const fuse_ctx* const sender = fuse_req_ctx(request);
  RequestWatch::Request watched(mount_state(request).watch, operation, inode,
                                {sender->uid, sender->pid});
  const RequestWatch::Served served(watched);
  serve();
}

template <Operation kOperation, auto kServe>
struct WatchedOperation;

template <Operation kOperation, typename... Rest,
          void (*kServe)(fuse_req_t request, fuse_ino_t inode, Rest... rest)>
struct WatchedOperation<kOperation, kServe> {
  static void serve(fuse_req_t request, fuse_ino_t inode, Rest... rest) {
    serve_watched(kOperation, request, inode, [&] { kServe(request, inode, rest...); });
  }
};

/// That of symlink alone has a text before the directory.
template <Operation kOperation, void (*kServe)(fuse_req_t request, const char* text,
                                               fuse_ino_t directory, const char* name)>
struct WatchedOperation<kOperation, kServe> {
  static void serve(fuse_req_t request, const char* text, fuse_ino_t directory, const char* name) {
    serve_watched(kOperation, request, directory, [&] { kServe(request, text, directory, name); });
  }
};

/// What libfuse is to call for an operation that `kServe` serves.
template <Operation kOperation, auto kServe>
inline constexpr auto watched = &WatchedOperation<kOperation, kServe>::serve;

}  // namespace bloscfs::fs
