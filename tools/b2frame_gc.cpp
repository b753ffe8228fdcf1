// b2frame gc: removes the leftovers of hosts that have ended from an object store.

#include <chrono>

#include <fmt/core.h>

#include "frame/remote/s3_address.hpp"
#include "frame/sframe/leftovers.hpp"
#include "fs/support/printable.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"
#include "tools/remote_files.hpp"

namespace bloscfs::tools {
namespace {

/// Younger leftovers may belong to a host that is still writing. Only --force removes them.
constexpr std::chrono::hours kOld{24};

void print(const frame::Leftovers& removed) {
  fmt::print("unnamed chunks: {} ({} bytes)\n", removed.chunks, removed.chunk_bytes);
  fmt::print("removed files: {}\n", removed.tombstones);
  fmt::print("probes: {}\n", removed.probes);
}

}  // namespace

int run_gc(const GcOptions& options) {
  if (!frame::is_s3(options.source))
    throw UsageError("gc needs a URL s3://BUCKET/PREFIX; other sources have nothing to remove");
  return guarded(options.source, [&] {
    const RemoteFiles remote(options.remote, true);
    const auto age = options.force ? std::chrono::hours::zero() : kOld;
    const frame::Leftovers removed =
        frame::remove_leftovers(remote.tree(options.source), age, options.dry_run);
    for (const std::string& path : removed.paths) fmt::print("{}\n", fs::printable(path));
    print(removed);
    for (const std::string& path : removed.damaged)
      complain(path, "the index cannot be read: nothing of this frame was removed");
    return removed.damaged.empty() ? 0 : kExitBadData;
  });
}

}  // namespace bloscfs::tools
