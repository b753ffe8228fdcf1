#include "frame/cframe/kept_chunks.hpp"

#include <algorithm>

namespace bloscfs::frame::inline cframe {
namespace {

bool is_behind(const KeptChunk& a, const KeptChunk& b) { return a.entry > b.entry; }

void keep_last(std::vector<KeptChunk>& chunks) {
  if (chunks.size() <= kMostKeptChunks) return;
  const auto end = chunks.begin() + kMostKeptChunks;
  std::nth_element(chunks.begin(), end, chunks.end(), is_behind);
  chunks.erase(end, chunks.end());
}

}  // namespace

std::vector<KeptChunk> last_kept_chunks(const FrameEdit& edit, std::uint64_t from,
                                        codec::BlockDecoder& decoder) {
  std::vector<KeptChunk> chunks;
  const FrameSnapshot& base = *edit.base();
  const auto chunks_at = static_cast<std::uint64_t>(base.info().header_len);
  EntryReader entries(base, decoder);
  for (std::int64_t number = 0; number < edit.kept();) {
    for (const std::int64_t entry : entries.from(number)) {
      const std::int64_t chunk = number++;
      if (chunk >= edit.kept()) break;
      if (entry < 0 || static_cast<std::uint64_t>(entry) + chunks_at < from) continue;
      if (edit.chunks().count(chunk) == 0) chunks.push_back({chunk, entry});
    }
    if (chunks.size() >= 2 * kMostKeptChunks) keep_last(chunks);
  }
  keep_last(chunks);
  std::sort(chunks.begin(), chunks.end(), is_behind);
  return chunks;
}

}  // namespace bloscfs::frame::inline cframe
