#include "tools/input.hpp"

#include <algorithm>
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

/// Lets the largest block that the format allows be decoded; trim() keeps what is held far below.
constexpr std::size_t kInputCacheCapacity = std::size_t{3} << 30;
constexpr std::size_t kKeptCache = std::size_t{32} << 20;
constexpr std::size_t kMaxKeptCache = std::size_t{512} << 20;

std::shared_ptr<const frame::Snapshot> open_input(const std::string& path, bool bare_chunk,
                                                  RemoteFiles& remote) {
  if (frame::is_remote(path)) {
    if (bare_chunk) throw UsageError("--chunk goes with local files");
    if (auto snapshot = remote.open(path)) return snapshot;
    codec::throw_malformed("neither a Blosc2 frame nor a Bloscpack file");
  }
  if (const auto address = parse_store_address(path); address && !bare_chunk)
    return open_leaf(*address);
  fs::wait_for_ended_mounts(path);
  if (bare_chunk) return open_bare_chunk(path);
  if (auto snapshot = frame::open_path(path, {})) return snapshot;
  codec::throw_malformed("neither a Blosc2 frame nor a Bloscpack file");
}

/// Who reads an array in order comes to each block of a row of blocks again and again.
std::size_t kept_cache(const frame::FrameInfo& info) {
  if (!info.has_blocked_array() || info.array->blockshape.empty()) return kKeptCache;
  std::int64_t row = 0;
  if (__builtin_mul_overflow(frame::row_size(*info.array, info.typesize),
                             info.array->blockshape.front(), &row))
    return kMaxKeptCache;
  return std::min(kMaxKeptCache, kKeptCache + static_cast<std::size_t>(row));
}

}  // namespace

Input::Input(const std::string& path, bool bare_chunk, RemoteFiles& remote)
    : Input(open_input(path, bare_chunk, remote)) {}

Input::Input(std::shared_ptr<const frame::Snapshot> snapshot)
    : kept_(kept_cache(snapshot->info())),
      cache_(kInputCacheCapacity, pages_, stats_),
      reader_(std::move(snapshot), 1, 2, cache_, stats_) {}

void Input::trim() { cache_.shrink(kept_); }

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
                   const std::function<void(const frame::IndexPage&)>& visit) {
  fs::Request request = reader.begin_request();
  for (std::int64_t chunk = 0; chunk < reader.snapshot().info().nchunks;) {
    const auto page = reader.index().page_of_chunk(chunk, request);
    visit(*page);
    chunk = page->first_chunk() + page->chunk_count();
  }
}

}  // namespace bloscfs::tools
