#include "frame/repair/frame_planner.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/container/checksum.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/header/frame_header.hpp"
#include "frame/repair/chunk_order.hpp"
#include "frame/repair/chunk_search.hpp"
#include "frame/repair/index_remains.hpp"

namespace bloscfs::frame::inline repair {
namespace {

std::uint64_t bytes_of(const ByteSource& source) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, source.stamp().size));
}

SearchRules search_rules(const HeaderRemains& header, std::int32_t chunksize) {
  SearchRules rules;
  rules.chunksize = chunksize;
  if (chunksize > 0)
    rules.last_nbytes = static_cast<std::int32_t>(header.nbytes.value_or(0) % chunksize);
  return rules;
}

bool is_before(const FoundChunk& a, const FoundChunk& b) { return a.at < b.at; }

}  // namespace

FramePlanner::FramePlanner(std::shared_ptr<const ByteSource> source,
                           std::shared_ptr<const StoredChunks> chunks,
                           std::optional<ChunkNumbers> numbers)
    : source_(std::move(source)),
      chunks_(std::move(chunks)),
      numbers_(std::move(numbers)),
      file_size_(source_ ? bytes_of(*source_) : 0),
      effort_(file_size_ + (numbers_ ? numbers_->stored : 0), 0) {
  if (source_) read_remains();
  start_probe();
}

void FramePlanner::start_probe() {
  effort_ = Effort(file_size_ + (numbers_ ? numbers_->stored : 0), header_.nbytes.value_or(0));
  block_shape_ = block_shape_of(find_array(header_));
  // Chunks record item sizes up to 255 themselves. Only larger sizes must come from the header.
  const std::int32_t typesize = header_.typesize.value_or(0);
  probe_.emplace(effort_, typesize > kMaxChunkTypesize ? typesize : 0, block_shape_);
}

void FramePlanner::read_remains() {
  if (!numbers_) bloscpack_ = read_bloscpack_remains(*source_, file_size_);
  if (bloscpack_) {
    header_ = bloscpack_->header;
    return;
  }
  header_ = read_header_remains(*source_, file_size_);
  // A frame without contents has its trailer behind the header. Otherwise the size 0 is wrong.
  if (header_.nbytes && *header_.nbytes == 0 && !has_trailer_behind_header()) {
    header_.nbytes.reset();
    header_.is_sound = false;
  }
  trailer_ = read_trailer_remains(*source_, file_size_, header_);
}

RepairPlan FramePlanner::make() {
  find_chunks();
  if (is_item_size_doubtful()) {
    plan_ = {};
    plan_.notes.push_back(fmt::format(
        "the header says items of {} bytes, with which no chunk decodes", *header_.typesize));
    header_.typesize.reset();
    start_probe();
    found_.clear(), tables_.clear(), lost_.clear(), starts_.clear(), named_.clear();
    index_is_guess_ = false;
    likely_chunksize_ = 0;
    find_chunks();
  }
  checksums_ = open_checksums();
  take_order();
  sizes_ = decide_sizes(header_, gather_evidence());
  order_chunks();
  set_sizes();
  for (Slot& slot : plan_.slots) judge(slot);
  finish();
  return std::move(plan_);
}

void FramePlanner::find_chunks() {
  take_header_index();
  if (index_) look_at_entries();
  if (!needs_no_search()) search();
}

/// True if the header's item size may be wrong. Chunks do not record item sizes above 255, and the
/// item size decides where blocks end.
bool FramePlanner::is_item_size_doubtful() const {
  if (bloscpack_ || header_.typesize.value_or(0) <= kMaxChunkTypesize) return false;
  if (is_empty_frame()) return false;
  if (found_.empty() && index_ && !has_places(*index_)) return false;
  // A chunk that is cut off does not decode wholly with any item size.
  if (found_.size() == 1 && found_.front().is_cut) return false;
  // Chunks with larger items than 255 bytes record the item size 1.
  return std::none_of(found_.begin(), found_.end(), [](const FoundChunk& chunk) {
    return chunk.typesize == 1 && chunk.soundness == Soundness::whole;
  });
}

/// True if a trailer behind the header ends at frame_len, as in a frame without contents. A frame
/// that has grown may still have its first trailer there.
bool FramePlanner::has_trailer_behind_header() const {
  const auto at = static_cast<std::uint64_t>(header_.header_len.value_or(0));
  return header_.is_early || find_trailer_end(*source_, at, file_size_) ==
                                 static_cast<std::uint64_t>(header_.frame_len.value_or(0));
}

bool FramePlanner::is_empty_frame() const {
  return header_.is_sound && header_.nbytes == 0 && found_.empty();
}

/// Reads the index at the place that the header gives.
void FramePlanner::take_header_index() {
  if (bloscpack_) {
    index_ = bloscpack_->index;
    base_ = 0;
    return;
  }
  index_.reset();
  base_.reset();
  if (!source_ || !header_.header_len || (header_.nbytes && *header_.nbytes == 0)) return;
  std::int64_t at = *header_.header_len;
  if (!numbers_) {
    if (!header_.cbytes || __builtin_add_overflow(at, *header_.cbytes, &at)) return;
  }
  index_ = read_index_remains(*source_, static_cast<std::uint64_t>(at), file_size_,
                              header_.offset_width, *probe_);
  base_ = numbers_ ? 0 : *header_.header_len;
}

/// Finds the chunks that the index names.
void FramePlanner::look_at_entries() {
  std::vector<std::uint64_t> places;
  for (const EntryRun& run : index_->runs)
    if (const auto at = run.is_known ? place_of_entry(run.value, base_.value_or(0)) : std::nullopt)
      places.push_back(*at);
  std::sort(places.begin(), places.end());
  repeats_ = std::adjacent_find(places.begin(), places.end()) != places.end();
  places.erase(std::unique(places.begin(), places.end()), places.end());
  entries_without_chunk_ = 0;
  std::vector<FoundChunk> named;
  for (const std::uint64_t at : places) {
    if (find_chunk(found_, at) != nullptr) continue;
    const auto chunk = effort_.is_exhausted() ? std::nullopt : look_at(at);
    if (chunk)
      named.push_back(*chunk);
    else
      ++entries_without_chunk_;
  }
  found_.insert(found_.end(), named.begin(), named.end());
  std::sort(found_.begin(), found_.end(), is_before);
}

std::optional<FoundChunk> FramePlanner::look_at(std::uint64_t at) {
  const auto place = chunks_->locate(at);
  if (!place) return std::nullopt;
  const ChunkFacts facts = probe_->look(*place->source, place->position, place->limit, false);
  if (facts.soundness == Soundness::none || (facts.cbytes < kMinStoredChunk && !bloscpack_))
    return std::nullopt;
  if (facts.soundness == Soundness::damaged) lost_[at] = facts.lost;
  return found_chunk(at, facts);
}

/// True if no search is needed: header and index agree, and the index names only chunks.
bool FramePlanner::needs_no_search() const {
  if (is_empty_frame()) return true;
  if (!header_.is_sound || !index_ || !index_->is_whole() || repeats_) return false;
  if (entries_without_chunk_ > 0) return false;
  if (*header_.chunksize <= 0 || !header_.nbytes) return true;
  try {
    return count_chunks(*header_.nbytes, *header_.chunksize) == index_->count;
  } catch (const codec::Error&) {
    return false;
  }
}

void FramePlanner::search() {
  const std::vector<FoundChunk> named = std::move(found_);
  found_.clear();
  if (numbers_) {
    search_files();
  } else {
    const std::int32_t recorded = std::max(0, header_.chunksize.value_or(0));
    search_file(search_rules(header_, recorded));
    const FrameSizes sizes = decide_sizes(header_, {found_, {}, {}});
    // If the found chunks have another size than the header says, searches again with that size.
    if (sizes.chunksize > 0 && sizes.chunksize != recorded)
      search_file(search_rules(header_, sizes.chunksize));
  }
  if (effort_.is_exhausted() || found_.size() >= kMaxFoundChunks)
    doubt("the search for chunks was given up: too much looks like chunks");
  if (index_ && index_->unknown < index_->count) {
    take_named(named);
    // Drops an index if most of its entries name no chunk.
    if (2 * entries_without_chunk_ > index_->count) index_.reset();
  } else {
    index_.reset();
  }
  if (!index_) search_index();
  leave_out_tables();
}

/// Adds the chunks that the index names, even if other found chunks seem to overlap them.
void FramePlanner::take_named(const std::vector<FoundChunk>& named) {
  const std::size_t searched = found_.size();
  for (const FoundChunk& chunk : named) {
    const auto end = found_.begin() + static_cast<std::ptrdiff_t>(searched);
    if (!std::binary_search(found_.begin(), end, chunk, is_before)) found_.push_back(chunk);
  }
  std::sort(found_.begin(), found_.end(), is_before);
}

void FramePlanner::search_file(const SearchRules& rules) {
  const std::int64_t begin = header_.is_sound ? *header_.header_len : 0;
  if (!source_) return;
  found_ = search_chunks(*source_, std::min(file_size_, static_cast<std::uint64_t>(begin)),
                         file_size_, rules, *probe_, effort_);
  for (FoundChunk& chunk : found_) {
    // search_chunks() stops at the first bad block. look_at() finds all blocks that are lost.
    if (chunk.soundness != Soundness::damaged) continue;
    const auto again = look_at(chunk.at);
    if (again) chunk.soundness = again->soundness;
  }
  std::erase_if(found_, [](const FoundChunk& chunk) { return chunk.nbytes == 0; });
}

void FramePlanner::search_files() {
  for (const std::uint32_t number : numbers_->numbers) {
    if (effort_.is_exhausted()) return;
    if (const auto chunk = look_at(number)) found_.push_back(*chunk);
  }
}

}  // namespace bloscfs::frame::inline repair
