#include "fs/view/stored_contents.hpp"

#include <fmt/core.h>

#include "frame/editing/carrier.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

/// Counts the special chunks; with `only_uninit`, only those without a value.
std::int64_t count_special(Request& request, const FrameReader& reader, bool only_uninit) {
  const auto is_counted = [&](codec::SpecialValue special) {
    return only_uninit ? special == codec::SpecialValue::uninit
                       : special != codec::SpecialValue::none;
  };
  const std::int64_t count = reader.snapshot().info().nchunks;
  if (const auto special = reader.snapshot().all_chunks_special())
    return is_counted(*special) ? count : 0;
  ReadRequest reading = reader.begin_request(request);
  std::int64_t found = 0;
  for (std::int64_t chunk = 0; chunk < count;) {
    const auto page = reader.index().page_of_chunk(chunk, reading);
    for (const std::int64_t end = page->first_chunk() + page->chunk_count(); chunk < end; chunk++)
      if (is_counted(page->place(chunk).special)) found++;
  }
  return found;
}

}  // namespace

std::optional<std::string> missing_contents(Request& request, const FrameReader& reader) {
  const frame::Snapshot& snapshot = reader.snapshot();
  if (const auto object = frame::carried_object(snapshot))
    return *object + ", whose contents are not stored";
  const std::int64_t chunks = snapshot.info().nchunks;
  if (!frame::is_proxy(snapshot)) {
    if (!frame::is_being_filled(snapshot, thread_decoder())) return std::nullopt;
    const std::int64_t missing = count_special(request, reader, /*only_uninit=*/true);
    if (missing == 0) return std::nullopt;
    return fmt::format("an array that is being filled, which lacks {} of {} chunks", missing,
                       chunks);
  }
  // Proxies may note which part of their source they have fetched. If this one does not, its
  // special chunks count as missing.
  const auto noted = frame::fetched_part(snapshot, thread_decoder());
  const frame::FetchedPart part =
      noted ? *noted
            : frame::FetchedPart{count_special(request, reader, /*only_uninit=*/false), chunks};
  if (part.missing == 0) return std::nullopt;
  return fmt::format("a proxy that lacks {} of {} {}", part.missing, part.all, part.unit);
}

}  // namespace bloscfs::fs
