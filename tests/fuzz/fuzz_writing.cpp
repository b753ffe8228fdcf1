// Random requests to a mount of a SOURCE with damaged containers. Reads must return what was
// written. The next mount must show what this mount shows at its end.

#include <csignal>
#include <exception>
#include <optional>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "fs/support/log.hpp"
#include "tests/fuzz/fuzz_mount.hpp"
#include "tests/fuzz/request_player.hpp"
#include "tests/fuzz/shown_tree.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::fuzz;

/// The largest file in SOURCE. The fuzzer's files must fit into memory.
constexpr rlim_t kMostStored = 16 << 20;
constexpr int kMostMounts = 3;
constexpr std::size_t kLargeCache = std::size_t{256} << 20;

void prepare_process() {
  ::umask(0);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{kMostStored, kMostStored};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  fs::log::use(frame::UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC)));
}

fs::MountOptions read_options(InputReader& input) {
  static constexpr std::int32_t kChunkSizes[] = {0, 512, 4096, 100};
  const std::uint8_t flags = input.byte();
  const std::uint8_t more = input.byte();
  fs::MountOptions options;
  options.cache_size = std::size_t{1} << (20 + more % 8);
  options.raw = flags % 16 == 1;
  options.verify = (flags & 16) != 0;
  options.write.strict = (flags & 32) != 0;
  options.write.checksum = (flags & 64) != 0;
  options.write.writeback = (flags & 128) != 0;
  options.write.locking = flags % 16 == 2;
  options.write.chunk_size = kChunkSizes[more / 8 % 4];
  options.write.codec = more / 32 % 2 == 0 ? codec::CodecId::zstd : codec::CodecId::lz4;
  return options;
}

void require_kept(FuseChannel& channel, const HostileSource& source, fs::MountOptions options,
                  const ShownTree& before) {
  options.read_only = true;
  options.cache_size = kLargeCache;
  const FuzzMount again(channel, source.path(), options);
  require_same(before, read_tree(channel));
}

/// Returns true if another mount is to follow.
bool play_mount(FuseChannel& channel, HostileSource& source, const fs::MountOptions& options,
                InputReader& input) {
  RequestPlayer player(channel, source);
  RequestPlayer::End end{};
  std::optional<ShownTree> before;
  {
    FuzzMount mount(channel, source.path(), options);
    end = player.play(input);
    if (end == RequestPlayer::End::kill) {
      mount.kill();
    } else {
      player.close_all();
      before = read_tree(channel);
      if (!mount.commit() || player.source_has_changed()) before.reset();
    }
  }
  if (before) require_kept(channel, source, options, *before);
  return end != RequestPlayer::End::input;
}

}  // namespace

/// Most memory of this fuzzer is what AddressSanitizer remembers of freed memory.
extern "C" const char* __asan_default_options() {
  return "malloc_context_size=4:quarantine_size_mb=16";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  [[maybe_unused]] static const bool prepared = (prepare_process(), true);
  static FuseChannel channel;
  static HostileSource source;
  InputReader input({data, size});
  const fs::MountOptions options = read_options(input);
  source.make(input);
  try {
    for (int mounts = 0; mounts < kMostMounts && play_mount(channel, source, options, input);)
      mounts++;
  } catch (const std::exception&) {
    // Changes by other programs have made SOURCE impossible to mount.
  }
  return 0;
}
