#include "tests/bench/fuse_session.hpp"

#include <csignal>

#include "fs/fuse/kernel_channel.hpp"
#include "fs/fuse/reply.hpp"
#include "fs/fuse/request_cells.hpp"

namespace bloscfs::bench {
namespace {

constexpr unsigned kRequestThreads = 4;

}  // namespace

void set_request_sizes(fuse_conn_info& connection) {
  connection.max_write = fs::kRequestSize;
  connection.max_read = fs::kRequestSize;
}

int serve(const std::string& name, const std::string& options, const fuse_lowlevel_ops& operations,
          const char* mountpoint) {
  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  const std::string all = "rw,fsname=" + name + ",subtype=" + name +
                          ",max_read=" + std::to_string(fs::kRequestSize) +
                          (options.empty() ? "" : "," + options);
  for (const char* word : {name.c_str(), "-o", all.c_str()}) fuse_opt_add_arg(&arguments, word);
  fs::PagePool pages;
  fs::MountState state;  // only its channel is used
  fuse_session* const session =
      fuse_session_new(&arguments, &operations, sizeof operations, &state);
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) ::sigaddset(&ends, number);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  if (session == nullptr || fuse_session_mount(session, mountpoint) != 0) return 1;
  fs::KernelChannel channel(session, pages);
  state.channel = &channel;
  const int result = channel.serve(kRequestThreads, ends);
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  fuse_opt_free_args(&arguments);
  return result == 0 ? 0 : 1;
}

}  // namespace bloscfs::bench
