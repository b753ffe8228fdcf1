#include "fs/view/stored_contents.hpp"

#include <fmt/core.h>

#include "frame/editing/carrier.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

/// Number of the first chunk without stored bytes; nullopt if there is none.
std::optional<std::int64_t> first_special_chunk(Request& request, const FrameReader& reader) {
  const std::int64_t count = reader.snapshot().info().nchunks;
  if (count > 0 && reader.snapshot().all_chunks_special()) return 0;
  ReadRequest reading = reader.begin_request(request);
  for (std::int64_t chunk = 0; chunk < count;) {
    const auto page = reader.index().page_of_chunk(chunk, reading);
    for (const std::int64_t end = page->first_chunk() + page->chunk_count(); chunk < end; chunk++)
      if (page->place(chunk).special != codec::SpecialValue::none) return chunk;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> missing_contents(Request& request, const FrameReader& reader) {
  const frame::Snapshot& snapshot = reader.snapshot();
  if (const auto object = frame::carried_object(snapshot))
    return *object + ", whose contents are not stored";
  if (!frame::is_proxy(snapshot)) return std::nullopt;
  const auto noted = frame::notes_all_fetched(snapshot, thread_decoder());
  // What python-blosc2 notes counts; where nothing is noted, special chunks are those that were not
  // fetched.
  if (noted && *noted) return std::nullopt;
  const auto chunk = first_special_chunk(request, reader);
  if (chunk) return fmt::format("a proxy, whose chunk {} was not fetched", *chunk);
  if (noted) return "a proxy that was not fetched completely";
  return std::nullopt;
}

}  // namespace bloscfs::fs
