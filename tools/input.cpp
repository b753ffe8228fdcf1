#include "tools/input.hpp"

#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/array/array_shapes.hpp"
#include "frame/open/open.hpp"
#include "frame/remote/open_remote.hpp"
#include "frame/remote/remote_error.hpp"
#include "frame/remote/url.hpp"
#include "fs/mount/ended_mounts.hpp"
#include "fs/support/printable.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/bare_chunk.hpp"
#include "tools/interrupt.hpp"
#include "tools/remote_files.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

/// Returns the bytes of one row of blocks: all blocks that share an index along the first
/// dimension. A reader in C order needs these blocks again and again. Returns 0 for contents
/// without blocks.
std::int64_t row_of_blocks(const frame::FrameInfo& info) {
  if (!info.has_blocked_array() || info.array->blockshape.empty()) return 0;
  std::int64_t row = 0;
  if (__builtin_mul_overflow(frame::row_size(*info.array, info.typesize),
                             info.array->blockshape.front(), &row))
    return std::numeric_limits<std::int64_t>::max();
  return row;
}

}  // namespace

std::shared_ptr<const frame::Snapshot> open_input(const std::string& path, bool bare_chunk,
                                                  RemoteFiles& remote) {
  if (frame::is_remote(path)) {
    if (bare_chunk) throw UsageError("--chunk goes with local files");
    if (auto snapshot = remote.open(path)) return snapshot;
    if (remote.find_store(path)) refuse_whole("a store");
    codec::throw_malformed("neither a Blosc2 frame nor a Bloscpack file");
  }
  if (const auto address = parse_store_address(path); address && !bare_chunk)
    return open_leaf(*open_store(address->store), *address);
  fs::wait_for_ended_mounts(path);
  if (bare_chunk) return open_bare_chunk(path);
  if (auto snapshot = frame::open_path(path, {})) return snapshot;
  refuse_no_frame(path);
}

Input::Input(const std::string& path, bool bare_chunk, RemoteFiles& remote, RunLimits& limits)
    : Input(open_input(path, bare_chunk, remote), limits) {}

Input::Input(std::shared_ptr<const frame::Snapshot> snapshot, RunLimits& limits)
    : limits_(limits),
      reader_(std::move(snapshot), limits.next_content(), limits.next_content(), limits.cache(),
              limits.stats()) {
  limits.keep_row(row_of_blocks(info()));
}

std::string reason(const std::exception& error) {
  if (dynamic_cast<const codec::Error*>(&error) != nullptr) return error.what();
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "out of memory";
  if (const auto* remote = dynamic_cast<const frame::RemoteError*>(&error))
    return fmt::format("{} ({})", remote->code().message(), remote->explanation());
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  return system != nullptr ? system->code().message() : error.what();
}

std::string complaint(const std::string& file, const std::string& what) {
  return fmt::format("b2frame: {}: {}", fs::printable(frame::shown_url(file)), fs::printable(what));
}

void complain(const std::string& file, const std::string& what) {
  fmt::print(stderr, "{}\n", complaint(file, what));
}

int guarded(const std::string& file, const std::function<int()>& work) {
  try {
    return work();
  } catch (const Interrupted&) {
    throw;
  } catch (const UsageError& error) {
    throw UsageError(frame::shown_url(file) + ": " + error.what());
  } catch (const FileError& error) {
    complain(error.file(), error.what());
    return kExitBadData;
  } catch (const std::exception& error) {
    complain(file, reason(error));
    return kExitBadData;
  }
}

void for_each_page(const fs::FrameReader& reader,
                   const std::function<bool(const frame::IndexPage&)>& visit) {
  fs::Request request;
  fs::ReadRequest reading = reader.begin_request(request);
  for (std::int64_t chunk = 0; chunk < reader.snapshot().info().nchunks;) {
    const auto page = reader.index().page_of_chunk(chunk, reading);
    if (!visit(*page)) return;
    chunk = page->first_chunk() + page->chunk_count();
  }
}

}  // namespace bloscfs::tools
