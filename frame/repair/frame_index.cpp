// Planning: finds the index if it is not where the header says, and rejects chunks that only look
// like an index.

#include <algorithm>

#include "codec/error.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/header/frame_header.hpp"
#include "frame/repair/frame_planner.hpp"

namespace bloscfs::frame::inline repair {
namespace {

/// Most chunks to examine for the index, from the end of the file.
constexpr int kIndexTries = 64;

}  // namespace

/// Takes the last chunk of the file that reads like an index of other chunks.
void FramePlanner::search_index() {
  if (!source_ || bloscpack_) return;
  std::vector<FoundChunk> candidates = found_;
  // For a sparse frame, found_ has the chunk files, and the index is in another file.
  if (numbers_) candidates = search_chunks(*source_, 0, file_size_, {}, *probe_, effort_);
  int tries = 0;
  for (auto chunk = candidates.rbegin(); chunk != candidates.rend() && tries < kIndexTries;
       ++chunk) {
    if (chunk->typesize != header_.offset_width || chunk->is_layer) continue;
    ++tries;
    auto index = read_index(*chunk);
    if (!index) continue;
    if (take_index(std::move(*index))) return look_at_entries();
  }
}

/// Takes an index as the frame's, unless it names too many places without a chunk.
bool FramePlanner::take_index(IndexRemains index) {
  // The index of the current state has the last trailer behind it, with no room for a chunk between
  // them. Any other index counts only if half of its entries lead to chunks (`least`).
  const bool is_last = trailer_.is_sound && trailer_.end == file_size_ &&
                       trailer_.at >= index.end && trailer_.at - index.end < kMinStoredChunk;
  const double least = is_last ? 0 : 0.5;
  const IsChunk is_chunk = [&](std::uint64_t at) { return starts_chunk(at); };
  bool is_unambiguous = true;
  if (numbers_) {
    base_ = 0;
  } else if (header_.is_sound && !header_.is_early) {
    base_ = *header_.header_len;
    if (!is_last && has_places(index) && !meets_chunks(index, *base_, is_chunk, least))
      return false;
  } else if (!base_ || !meets_chunks(index, *base_, is_chunk, 0.5)) {
    const auto found = find_base(index, found_, is_chunk, least);
    base_.reset();
    if (found) base_ = found->base, is_unambiguous = found->is_unambiguous;
  }
  if (!base_ && has_places(index)) return false;
  index_ = std::move(index);
  if (is_last && is_unambiguous) return true;
  index_is_guess_ = true;
  doubt("the index that was found may not be of these chunks: where they belong is a guess");
  return true;
}

/// True if a chunk was found at the position, or if a damaged chunk of the usual size begins there.
bool FramePlanner::starts_chunk(std::uint64_t at) {
  if (find_chunk(found_, at) != nullptr) return true;
  const auto known = starts_.find(at);
  if (known != starts_.end()) return known->second;
  if (likely_chunksize_ == 0) likely_chunksize_ = decide_sizes(header_, {found_, {}, {}}).chunksize;
  const auto place = chunks_->locate(at);
  const auto opened =
      place ? probe_->open(*place->source, place->position, place->limit) : std::nullopt;
  return starts_[at] = opened && opened->chunk.nbytes() == likely_chunksize_;
}

bool FramePlanner::has_places(const IndexRemains& index) {
  return std::any_of(index.runs.begin(), index.runs.end(),
                     [](const EntryRun& run) { return run.is_known && run.value >= 0; });
}

/// True for a chunk of contents: it has the chunk size of the header, while the index would have
/// another size. A chunk of a few items may read like an index.
bool FramePlanner::is_contents(const FoundChunk& chunk) const {
  if (!header_.is_sound || !header_.nbytes || chunk.nbytes != *header_.chunksize) return false;
  try {
    return count_chunks(*header_.nbytes, *header_.chunksize) * header_.offset_width != chunk.nbytes;
  } catch (const codec::Error&) {
    return false;
  }
}

/// Returns the index that a found chunk holds; nullopt for other chunks.
std::optional<IndexRemains> FramePlanner::read_index(const FoundChunk& chunk) {
  if (is_contents(chunk)) return std::nullopt;
  auto index = read_index_remains(*source_, chunk.at, file_size_, header_.offset_width, *probe_);
  if (!index || !index->is_whole()) return std::nullopt;
  std::vector<std::int64_t> places;
  for (const EntryRun& run : index->runs)
    if (run.value >= 0) places.push_back(run.value);
  std::sort(places.begin(), places.end());
  // The entries of an undamaged index name different places, all of them in front of the index.
  const bool repeats = std::adjacent_find(places.begin(), places.end()) != places.end();
  const std::uint64_t most = numbers_ ? UINT32_MAX : chunk.at;
  if (repeats || (!places.empty() && static_cast<std::uint64_t>(places.back()) > most))
    return std::nullopt;
  return index;
}

/// True for an index of an earlier state: a trailer follows it directly, or it names chunks.
bool FramePlanner::holds_index(const FoundChunk& chunk) {
  if (chunk.typesize != header_.offset_width || is_named(chunk.at)) return false;
  if (find_trailer_end(*source_, chunk.end(), file_size_) > chunk.end()) return true;
  if (!base_ || chunk.nbytes % 8 != 0 || chunk.soundness != Soundness::whole) return false;
  const auto index = read_index(chunk);
  return index && has_places(*index) &&
         meets_chunks(
             *index, *base_, [&](std::uint64_t at) { return starts_chunk(at); }, 0.5);
}

/// Removes indexes, current and old ones, and metalayers from the found chunks. They are chunks,
/// but not of the contents.
void FramePlanner::leave_out_tables() {
  const auto is_other = [&](const FoundChunk& chunk) {
    if (numbers_) return false;
    if (chunk.is_layer || (index_ && chunk.at == index_->at)) return true;
    if (trailer_.at > 0 && chunk.at >= trailer_.at && chunk.at < trailer_.end) return true;
    return holds_index(chunk);
  };
  std::vector<FoundChunk> kept;
  for (const FoundChunk& chunk : found_) (is_other(chunk) ? tables_ : kept).push_back(chunk);
  found_ = std::move(kept);
}

bool FramePlanner::is_named(std::uint64_t at) const {
  if (!index_ || !base_) return false;
  if (named_.empty())
    for (const EntryRun& run : index_->runs)
      if (const auto place = run.is_known ? place_of_entry(run.value, *base_) : std::nullopt)
        named_.insert(*place);
  return named_.count(at) > 0;
}

}  // namespace bloscfs::frame::inline repair
