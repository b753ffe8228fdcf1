#include "frame/repair/frame_sizes.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/header/b2nd.hpp"
#include "frame/header/frame_limits.hpp"

namespace bloscfs::frame::inline repair {
namespace {

/// Counts how often each value occurs among the chunks that decode.
template <typename Value>
class Census {
 public:
  template <typename Get>
  Census(const std::vector<FoundChunk>& chunks, const Get& get) {
    for (const FoundChunk& chunk : chunks)
      if (chunk.soundness == Soundness::whole) ++counts_[get(chunk)], ++total_;
  }
  bool has(Value value) const { return counts_.count(value) > 0; }
  std::size_t distinct() const { return counts_.size(); }
  std::int64_t total() const { return total_; }
  std::int64_t count(Value value) const {
    const auto found = counts_.find(value);
    return found == counts_.end() ? 0 : found->second;
  }
  /// Returns the most frequent value; of several such values the largest.
  std::optional<Value> mode() const {
    std::optional<Value> best;
    std::int64_t most = 0;
    for (const auto& [value, count] : counts_)
      if (count > most || (count == most && value > *best)) best = value, most = count;
    return best;
  }

 private:
  std::unordered_map<Value, std::int64_t> counts_;
  std::int64_t total_ = 0;
};

std::int32_t decide_typesize(const HeaderRemains& header, const Census<std::int32_t>& typesizes,
                             std::int32_t largest_chunk, std::vector<std::string>& notes) {
  const auto mode = typesizes.mode();
  if (!header.typesize) return mode.value_or(1);
  const std::int32_t recorded = *header.typesize;
  const bool is_possible = recorded <= kMaxChunkTypesize || recorded <= largest_chunk;
  if (is_possible && (!mode || typesizes.has(stored_typesize(recorded)))) return recorded;
  const std::int32_t decided = mode.value_or(1);
  notes.push_back(
      fmt::format("the header says items of {} bytes, the chunks {}", recorded, decided));
  return decided;
}

/// True if at least half of the chunks have the most frequent size.
bool is_uniform(const Census<std::int32_t>& sizes) {
  const auto mode = sizes.mode();
  return !mode || 2 * sizes.count(*mode) >= sizes.total();
}

/// Returns -1 if neither the header nor the chunks give a size.
std::int32_t decide_chunksize(const HeaderRemains& header, const Census<std::int32_t>& sizes,
                              std::vector<std::string>& notes) {
  const auto mode = sizes.mode();
  const bool says_variable = header.chunksize && *header.chunksize == 0;
  if (says_variable && (header.variable_chunks || !is_uniform(sizes))) return 0;
  const std::int32_t recorded = header.chunksize.value_or(0) > 0 ? *header.chunksize : -1;
  if (!mode || (recorded > 0 && sizes.has(recorded))) return recorded;
  if (recorded > 0)
    notes.push_back(
        fmt::format("the header says chunks of {} bytes, they have {}", recorded, *mode));
  return header.chunksize || is_uniform(sizes) ? *mode : 0;
}

/// Returns the number of chunks for contents of this size; nullopt if a frame cannot have so many.
std::optional<std::int64_t> possible_count(std::int64_t nbytes, std::int32_t chunksize) {
  const std::int64_t count = codec::ceil_div<std::int64_t>(nbytes, chunksize);
  return count <= max_chunk_count(false) ? std::optional(count) : std::nullopt;
}

bool has_count(std::int64_t nbytes, std::int32_t chunksize, std::int64_t count) {
  return possible_count(nbytes, chunksize) == count;
}

/// Returns the item sizes that an array may have, the likeliest first.
std::vector<std::int32_t> possible_typesizes(const HeaderRemains& header, const ArrayInfo& array,
                                             const Census<std::int32_t>& typesizes,
                                             const Census<std::int32_t>& sizes) {
  std::vector<std::int32_t> possible;
  const auto add = [&](std::optional<std::int32_t> typesize) {
    const bool is_stored = typesize && *typesize > 0 &&
                           (!typesizes.mode() || typesizes.has(stored_typesize(*typesize)));
    if (is_stored) possible.push_back(*typesize);
  };
  add(header.typesize);
  add(typesizes.mode());
  std::int64_t chunk_items = 1;
  for (const std::int32_t extent : array.chunkshape)
    if (__builtin_mul_overflow(chunk_items, extent, &chunk_items)) return possible;
  for (const auto& size : {sizes.mode(), header.chunksize})
    if (size && chunk_items > 0 && *size % chunk_items == 0)
      add(static_cast<std::int32_t>(*size / chunk_items));
  return possible;
}

/// Fills `out` with the sizes of an array of such items, if they fit the frame.
bool fits_array(const HeaderRemains& header, const ArrayInfo& array, std::int32_t typesize,
                const Census<std::int32_t>& sizes, std::optional<std::int64_t> count,
                FrameSizes& out) {
  try {
    const ArraySizes implied = array_sizes(array, typesize);
    const auto chunksize = static_cast<std::int32_t>(implied.chunksize);
    const auto implied_count =
        chunksize > 0 ? possible_count(implied.nbytes, chunksize) : std::nullopt;
    if (!implied_count || *implied_count == 0) return false;
    const bool is_size_recorded = header.nbytes && *header.nbytes == implied.nbytes;
    const bool is_recorded =
        is_size_recorded || (header.chunksize && *header.chunksize == chunksize);
    const bool fits = sizes.has(chunksize) || (is_recorded && sizes.total() == 0);
    // If the number of chunks is unknown, the shape may not give more bytes than the header says,
    // unless more chunks were found than the header's bytes hold.
    const bool is_counted = count ? implied_count == count
                                  : implied.nbytes <= header.nbytes.value_or(implied.nbytes) ||
                                        sizes.total() > *header.nbytes / chunksize;
    if (!fits || !(is_size_recorded || is_counted)) return false;
    out.chunksize = chunksize;
    out.blocksize = static_cast<std::int32_t>(implied.blocksize);
    out.nbytes = implied.nbytes;
    return true;
  } catch (const codec::Error&) {
    return false;
  }
}

/// Fills `out` with the sizes of an array, if they fit the frame.
bool take_array(const HeaderRemains& header, const Census<std::int32_t>& typesizes,
                const Census<std::int32_t>& sizes, std::optional<std::int64_t> count,
                FrameSizes& out) {
  const auto array = find_array(header);
  if (!array) return false;
  const bool is_empty =
      std::find(array->shape.begin(), array->shape.end(), 0) != array->shape.end();
  if (is_empty) {
    if (!header.is_sound || !header.typesize || *header.nbytes != 0) return false;
    out.typesize = *header.typesize;
    out.chunksize = header.chunksize.value_or(-1);
    out.blocksize = header.blocksize.value_or(0);
    out.nbytes = 0;
    out.array = array;
    return true;
  }
  for (const std::int32_t typesize : possible_typesizes(header, *array, typesizes, sizes)) {
    if (!fits_array(header, *array, typesize, sizes, count, out)) continue;
    if (header.typesize && *header.typesize != typesize)
      out.notes.push_back(fmt::format("the header says items of {} bytes, the array has {}",
                                      *header.typesize, typesize));
    out.typesize = typesize;
    out.array = array;
    return true;
  }
  return false;
}

/// Returns the chunk size if no chunk is stored, or only the last one, which has `last` bytes.
/// Takes the header's size if it fits the number of chunks. Returns -1 if nothing gives a size.
std::int32_t agree_on_chunksize(const HeaderRemains& header, std::int64_t count,
                                std::optional<std::int32_t> last, bool& is_guess) {
  const std::int32_t recorded = header.chunksize.value_or(0);
  const std::int64_t nbytes = header.nbytes.value_or(0);
  const std::int64_t before = count - 1;
  if (recorded > 0 && has_count(nbytes, recorded, count) &&
      (!last || nbytes - before * recorded == *last))
    return recorded;
  if (count == 1 && last) return std::max(recorded, *last);
  if (count == 1 && recorded <= 0 && nbytes > 0 && nbytes <= codec::kMaxChunkNbytes)
    return static_cast<std::int32_t>(nbytes);
  if (last && nbytes > *last && (nbytes - *last) % before == 0) {
    const std::int64_t implied = (nbytes - *last) / before;
    // The header's other sizes prove a chunk size that it lacks. They do not prove one that it
    // contradicts.
    is_guess = recorded > 0;
    if (implied >= *last && implied <= codec::kMaxChunkNbytes)
      return static_cast<std::int32_t>(implied);
  }
  is_guess = true;
  return recorded > 0 ? recorded : last.value_or(-1);
}

/// Returns the size of all chunks, from their number and the last chunk.
std::optional<std::int64_t> decide_nbytes(const HeaderRemains& header, std::int32_t chunksize,
                                          std::optional<std::int64_t> count,
                                          std::optional<std::int32_t> last) {
  if (chunksize > 0 && count && last && *last <= chunksize) return (*count - 1) * chunksize + *last;
  if (!header.nbytes || chunksize <= 0) return header.nbytes;
  const auto recorded = possible_count(*header.nbytes, chunksize);
  return recorded && recorded == count.value_or(*recorded) ? header.nbytes : std::nullopt;
}

void decide_flat(const HeaderRemains& header, const SizeEvidence& evidence,
                 const Census<std::int32_t>& sizes, const Census<std::int32_t>& blocks,
                 FrameSizes& out) {
  std::optional<std::int32_t> last;
  if (evidence.last && evidence.last->soundness == Soundness::whole) last = evidence.last->nbytes;
  out.chunksize = decide_chunksize(header, sizes, out.notes);
  if (out.chunksize != 0 && evidence.count && !sizes.mode())
    out.chunksize = agree_on_chunksize(header, *evidence.count, last, out.is_guess);
  const std::int32_t recorded = header.blocksize.value_or(blocks.mode().value_or(0));
  out.blocksize = header.is_sound ? recorded : std::clamp(recorded, 0, std::max(0, out.chunksize));
  out.nbytes = decide_nbytes(header, out.chunksize, evidence.count, last);
  if (header.nbytes && out.nbytes != header.nbytes)
    out.notes.push_back(
        fmt::format("the header says {} bytes of contents, which is wrong", *header.nbytes));
}

}  // namespace

std::optional<ArrayInfo> find_array(const HeaderRemains& header) {
  for (const char* name : {"b2nd", "caterva"}) {
    for (const Metalayer& layer : header.metalayers) {
      if (layer.name != name) continue;
      try {
        return parse_b2nd_shapes(layer.content);
      } catch (const codec::Error&) {
        return std::nullopt;
      }
    }
  }
  return std::nullopt;
}

codec::BlockShape block_shape_of(const std::optional<ArrayInfo>& array) {
  return array ? codec::BlockShape(array->blockshape) : codec::BlockShape();
}

FrameSizes decide_sizes(const HeaderRemains& header, const SizeEvidence& evidence) {
  FrameSizes out;
  std::vector<FoundChunk> all = evidence.chunks;
  if (evidence.last) all.push_back(*evidence.last);
  const auto nbytes_of = [](const FoundChunk& chunk) { return chunk.nbytes; };
  const Census<std::int32_t> typesizes(
      all, [](const FoundChunk& chunk) { return std::int32_t{chunk.typesize}; });
  const Census<std::int32_t> blocks(all, [](const FoundChunk& chunk) { return chunk.blocksize; });
  out.vl_blocks =
      std::any_of(all.begin(), all.end(), [](const FoundChunk& chunk) { return chunk.vl_blocks; });
  // All chunks of an array are padded, also the last one.
  if (take_array(header, typesizes, Census<std::int32_t>(all, nbytes_of), evidence.count, out))
    return out;
  std::int32_t largest = header.chunksize.value_or(0);
  for (const FoundChunk& chunk : all) largest = std::max(largest, chunk.nbytes);
  out.typesize = decide_typesize(header, typesizes, largest, out.notes);
  decide_flat(header, evidence, Census<std::int32_t>(evidence.chunks, nbytes_of), blocks, out);
  return out;
}

}  // namespace bloscfs::frame::inline repair
