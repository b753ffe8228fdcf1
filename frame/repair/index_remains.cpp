#include "frame/repair/index_remains.hpp"

#include <algorithm>
#include <tuple>

#include <boost/endian/conversion.hpp>

#include "codec/error.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/header/frame_limits.hpp"
#include "frame/reading/chunk_index.hpp"
#include "frame/stored/paged_table.hpp"

namespace bloscfs::frame::inline repair {
namespace {

/// Most runs of special entries in an index, in addition to the entries of stored chunks.
constexpr std::uint64_t kSpecialRuns = std::uint64_t{1} << 20;
/// find_base() derives bases from kTried entries at both ends of the index. It judges each base by
/// kFirstJudged entries, and then the kBest best bases by kJudged entries.
constexpr std::size_t kTried = 2048, kFirstJudged = 48, kBest = 8, kJudged = 256;

bool is_special_entry(std::int64_t value) {
  try {
    return special_of_entry(value) != codec::SpecialValue::none;
  } catch (const codec::Error&) {
    return false;
  }
}

std::int64_t load_entry(const std::uint8_t* bytes, int width) {
  if (width == 2) return boost::endian::load_little_u16(bytes);
  if (width == 4) return boost::endian::load_little_u32(bytes);
  return boost::endian::load_little_s64(bytes);
}

class RunCollector {
 public:
  RunCollector(IndexRemains& index, std::uint64_t most) : index_(index), most_(most) {}

  void add(std::int64_t value, std::int64_t count) {
    // An entry that is neither a place nor a special value is damaged.
    const bool is_known = value >= 0 || is_special_entry(value);
    append({is_known ? value : 0, count, is_known});
  }
  void add_unknown(std::int64_t count) { append({0, count, false}); }
  bool is_full() const { return index_.runs.size() > most_; }

 private:
  void append(const EntryRun& run) {
    index_.count += run.count;
    if (!run.is_known) index_.unknown += run.count;
    auto& runs = index_.runs;
    const bool repeats = !runs.empty() && runs.back().is_known == run.is_known &&
                         runs.back().value == run.value && (run.value < 0 || !run.is_known);
    if (repeats)
      runs.back().count += run.count;
    else
      runs.push_back(run);
  }

  IndexRemains& index_;
  std::uint64_t most_;
};

/// Returns the entries that name places, in ascending order.
std::vector<std::int64_t> places_of(const IndexRemains& index) {
  std::vector<std::int64_t> places;
  for (const EntryRun& run : index.runs)
    if (run.is_known && run.value >= 0) places.push_back(run.value);
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<std::int64_t> sample(const std::vector<std::int64_t>& places, std::size_t most) {
  std::vector<std::int64_t> some;
  const std::size_t step = std::max<std::size_t>(1, places.size() / most);
  for (std::size_t i = 0; i < places.size(); i += step) some.push_back(places[i]);
  return some;
}

/// How well a base fits the chunks that were found, not counting indexes and metalayers.
struct BaseScore {
  std::int64_t base = 0;
  std::size_t met = 0;
  std::size_t possible = 0;  ///< places without another chunk, in front of the index

  bool is_as_good_as(const BaseScore& other) const {
    return met == other.met && possible == other.possible;
  }
  /// Of two equal bases, the one right behind a header without metalayers is likelier.
  bool operator<(const BaseScore& other) const {
    return std::tuple(met, possible, base == kMinHeaderLen) <
           std::tuple(other.met, other.possible, other.base == kMinHeaderLen);
  }
};

BaseScore judge_base(const IndexRemains& index, const std::vector<std::int64_t>& places,
                     std::int64_t base, const std::vector<FoundChunk>& found,
                     const IsChunk& is_chunk) {
  BaseScore score;
  score.base = base;
  for (const std::int64_t place : places) {
    const auto at = place_of_entry(place, base);
    if (!at) continue;
    const std::uint64_t position = *at;
    const auto behind = std::partition_point(
        found.begin(), found.end(), [&](const FoundChunk& chunk) { return chunk.at < position; });
    const bool is_inside = behind != found.begin() && (behind - 1)->end() > position;
    const bool is_other = behind != found.end() && behind->at == position && !is_chunk(position);
    if (is_inside || is_other || position == index.at) continue;
    score.possible += position < index.at ? 1 : 0;
    score.met += is_chunk(position) ? 1 : 0;
  }
  return score;
}

/// Returns the bases for which the first or the last found chunk is one that the index names.
std::vector<std::int64_t> possible_bases(const std::vector<std::int64_t>& places,
                                         const std::vector<FoundChunk>& found) {
  std::vector<std::int64_t> bases;
  for (std::size_t i = 0; i < std::min(places.size(), kTried); ++i) {
    bases.push_back(static_cast<std::int64_t>(found.front().at) - places[i]);
    bases.push_back(static_cast<std::int64_t>(found.back().at) - places[places.size() - 1 - i]);
  }
  std::sort(bases.begin(), bases.end());
  bases.erase(std::unique(bases.begin(), bases.end()), bases.end());
  return bases;
}

bool are_enough(std::size_t met, std::size_t all, double least) {
  return met > 0 && static_cast<double>(met) >= least * static_cast<double>(all);
}

/// Returns the chunks that the index may name. Leaves out earlier indexes, which often have the
/// same number of entries.
std::vector<FoundChunk> without_indexes(const IndexRemains& index,
                                        const std::vector<FoundChunk>& found) {
  std::vector<FoundChunk> others, all;
  for (const FoundChunk& chunk : found) {
    if (chunk.is_layer || chunk.at == index.at) continue;
    all.push_back(chunk);
    if (chunk.typesize != 8 || chunk.nbytes != 8 * index.count) others.push_back(chunk);
  }
  return others.empty() ? all : others;
}

}  // namespace

std::optional<IndexRemains> read_index_remains(const ByteSource& source, std::uint64_t position,
                                               std::uint64_t file_size, int width,
                                               ChunkProbe& probe) {
  if (position >= file_size) return std::nullopt;
  const auto opened = probe.open(source, position, file_size - position);
  if (!opened) return std::nullopt;
  const codec::ChunkHeader& header = opened->chunk.header();
  if (header.typesize != width || header.nbytes == 0 || header.nbytes % width != 0 ||
      header.nbytes / width > max_chunk_count(false) || header.vl_blocks ||
      header.cbytes < kMinStoredChunk)
    return std::nullopt;
  if (header.has_block_starts() && header.blocksize > kMaxTableBlock) return std::nullopt;
  IndexRemains index;
  index.at = position;
  index.end = position + static_cast<std::uint64_t>(header.cbytes);
  RunCollector runs(index, file_size / static_cast<std::uint64_t>(kMinStoredChunk) + kSpecialRuns);
  if (header.is_special() &&
      (header.special != codec::SpecialValue::value || width % header.value_size == 0)) {
    std::uint8_t bytes[8] = {};
    opened->chunk.fill_special(0, MutableBytes(bytes, static_cast<std::size_t>(width)));
    const std::int64_t value = load_entry(bytes, width);
    // Several entries do not name the same place.
    if (value >= 0 && header.nbytes > width) return std::nullopt;
    runs.add(value, header.nbytes / width);
    return index;
  }
  std::vector<std::uint8_t> contents;
  auto wrong = opened->bad_start_blocks.begin();
  for (std::int32_t block = 0; block < opened->chunk.block_count(); ++block) {
    const std::int64_t size = opened->chunk.block_content(block).size;
    if (size % width != 0) return std::nullopt;
    const bool no_start = wrong != opened->bad_start_blocks.end() && *wrong == block;
    if (no_start) ++wrong;
    if (no_start || !probe.decode(source, position, opened->chunk, block, contents)) {
      runs.add_unknown(size / width);
    } else {
      for (std::size_t at = 0; at < contents.size(); at += static_cast<std::size_t>(width))
        runs.add(load_entry(contents.data() + at, width), 1);
    }
    if (runs.is_full()) return std::nullopt;
  }
  return index;
}

std::optional<std::uint64_t> place_of_entry(std::int64_t value, std::int64_t base) {
  std::int64_t at = 0;
  if (value < 0 || __builtin_add_overflow(value, base, &at) || at < 0) return std::nullopt;
  return static_cast<std::uint64_t>(at);
}

const FoundChunk* find_chunk(const std::vector<FoundChunk>& found, std::uint64_t at) {
  const auto chunk = std::lower_bound(
      found.begin(), found.end(), at,
      [](const FoundChunk& each, std::uint64_t position) { return each.at < position; });
  return chunk != found.end() && chunk->at == at ? &*chunk : nullptr;
}

bool meets_chunks(const IndexRemains& index, std::int64_t base, const IsChunk& is_chunk,
                  double least) {
  const std::vector<std::int64_t> places = sample(places_of(index), kJudged);
  return are_enough(judge_base(index, places, base, {}, is_chunk).met, places.size(), least);
}

std::optional<IndexBase> find_base(const IndexRemains& index, const std::vector<FoundChunk>& found,
                                   const IsChunk& is_chunk, double least) {
  const std::vector<std::int64_t> places = places_of(index);
  const std::vector<FoundChunk> others = without_indexes(index, found);
  if (places.empty() || others.empty()) return std::nullopt;
  const IsChunk is_found = [&](std::uint64_t at) { return find_chunk(others, at) != nullptr; };
  std::vector<BaseScore> scores;
  const std::vector<std::int64_t> few = sample(places, kFirstJudged);
  for (const std::int64_t base : possible_bases(places, others))
    scores.push_back(judge_base(index, few, base, found, is_found));
  std::stable_sort(scores.begin(), scores.end(),
                   [](const BaseScore& a, const BaseScore& b) { return b < a; });
  if (scores.size() > kBest) scores.resize(kBest);
  // Damaged chunks help to decide between the best bases.
  const std::vector<std::int64_t> more = sample(places, kJudged);
  const IsChunk is_any = [&](std::uint64_t at) {
    return is_found(at) || (find_chunk(found, at) == nullptr && is_chunk(at));
  };
  for (BaseScore& score : scores) score = judge_base(index, more, score.base, found, is_any);
  std::stable_sort(scores.begin(), scores.end(),
                   [](const BaseScore& a, const BaseScore& b) { return b < a; });
  if (!are_enough(scores.front().met, more.size(), least)) return std::nullopt;
  return IndexBase{scores.front().base, scores.size() == 1 || !scores[1].is_as_good_as(scores[0])};
}

}  // namespace bloscfs::frame::inline repair
