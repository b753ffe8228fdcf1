#include "frame/repair/frame_sizes.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/header/b2nd.hpp"
#include "frame/header/frame_header.hpp"

namespace bloscfs::frame {
namespace {

constexpr std::int32_t kMaxHeaderTypesize = 255;

/// How often each value is there, of chunks that decode.
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
  /// The most frequent one, and of those the largest.
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
                             std::vector<std::string>& notes) {
  const auto mode = typesizes.mode();
  if (!header.typesize) return mode.value_or(1);
  // Chunks cannot say more than 255, and then say 1.
  const std::int32_t expected = *header.typesize > kMaxHeaderTypesize ? 1 : *header.typesize;
  if (!mode || typesizes.has(expected)) return *header.typesize;
  notes.push_back(
      fmt::format("the header says items of {} bytes, the chunks {}", *header.typesize, *mode));
  return *mode;
}

bool is_uniform(const Census<std::int32_t>& sizes) {
  const auto mode = sizes.mode();
  return mode && 2 * sizes.count(*mode) >= sizes.total();
}

std::int32_t decide_chunksize(const HeaderRemains& header, const Census<std::int32_t>& sizes,
                              std::vector<std::string>& notes) {
  const auto mode = sizes.mode();
  if (header.chunksize && *header.chunksize == 0 && (header.is_sound || !is_uniform(sizes)))
    return 0;
  const std::int32_t told = header.chunksize.value_or(-1);
  if (told > 0 && (sizes.has(told) || !mode ||
                   (header.is_sound && sizes.distinct() == 1 && sizes.total() == 1)))
    return told;
  if (!mode) return told;
  if (told > 0)
    notes.push_back(fmt::format("the header says chunks of {} bytes, they have {}", told, *mode));
  return header.chunksize || is_uniform(sizes) ? *mode : 0;
}

bool has_count(std::int64_t nbytes, std::int32_t chunksize, std::int64_t count) {
  try {
    return count_chunks(nbytes, chunksize) == count;
  } catch (const codec::Error&) {
    return false;
  }
}

/// Sizes of an array, if they are the frame's.
bool take_array(const HeaderRemains& header, const Census<std::int32_t>& sizes,
                std::optional<std::int64_t> index_count, FrameSizes& out) {
  const auto array = find_array(header);
  if (!array) return false;
  try {
    const bool is_empty =
        std::find(array->shape.begin(), array->shape.end(), 0) != array->shape.end();
    if (is_empty && header.is_sound) {
      out.chunksize = header.chunksize.value_or(-1);
      out.blocksize = header.blocksize.value_or(0);
      out.nbytes = 0;
      out.array = array;
      return *header.nbytes == 0;
    }
    const ArraySizes implied = array_sizes(*array, out.typesize);
    const auto chunksize = static_cast<std::int32_t>(implied.chunksize);
    const bool is_told = header.chunksize && *header.chunksize == chunksize;
    const bool fits = sizes.has(chunksize) || (is_told && sizes.total() == 0);
    const bool is_counted = !index_count || (header.nbytes && *header.nbytes == implied.nbytes) ||
                            has_count(implied.nbytes, chunksize, *index_count);
    if (!fits || !is_counted || !count_chunks(implied.nbytes, chunksize)) return false;
    out.chunksize = chunksize;
    out.blocksize = static_cast<std::int32_t>(implied.blocksize);
    out.nbytes = implied.nbytes;
    out.array = array;
    return true;
  } catch (const codec::Error&) {
    return false;
  }
}

void decide_flat(const HeaderRemains& header, const std::vector<FoundChunk>& chunks,
                 const Census<std::int32_t>& sizes, std::optional<std::int64_t> index_count,
                 FrameSizes& out) {
  out.chunksize = decide_chunksize(header, sizes, out.notes);
  const Census<std::int32_t> blocks(chunks,
                                    [](const FoundChunk& chunk) { return chunk.blocksize; });
  const std::int32_t told = header.blocksize.value_or(blocks.mode().value_or(0));
  out.blocksize = header.is_sound ? told : std::clamp(told, 0, std::max(0, out.chunksize));
  if (!header.nbytes) return;
  const bool fits =
      out.chunksize <= 0 || !index_count || has_count(*header.nbytes, out.chunksize, *index_count);
  if (fits && (out.chunksize <= 0 || *header.nbytes / out.chunksize < kMaxChunks))
    out.nbytes = header.nbytes;
  else
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

FrameSizes decide_sizes(const HeaderRemains& header, const std::vector<FoundChunk>& chunks,
                        std::optional<std::int64_t> index_count) {
  FrameSizes out;
  const Census<std::int32_t> typesizes(
      chunks, [](const FoundChunk& chunk) { return std::int32_t{chunk.typesize}; });
  const Census<std::int32_t> sizes(chunks, [](const FoundChunk& chunk) { return chunk.nbytes; });
  out.typesize = decide_typesize(header, typesizes, out.notes);
  out.vl_blocks = std::any_of(chunks.begin(), chunks.end(),
                              [](const FoundChunk& chunk) { return chunk.vl_blocks; });
  if (!take_array(header, sizes, index_count, out))
    decide_flat(header, chunks, sizes, index_count, out);
  return out;
}

}  // namespace bloscfs::frame
