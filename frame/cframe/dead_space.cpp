#include "frame/cframe/dead_space.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include <boost/endian/conversion.hpp>

#include "codec/chunk_format.hpp"

namespace bloscfs::frame::inline cframe {
namespace {

/// Most chunks to look at. If there are more, uses those nearest to the frame's end, where most
/// edits go.
constexpr std::size_t kMaxChunks = std::size_t{1} << 19;
constexpr std::size_t kMaxHeaders = 1024;
/// Most chunk headers to read to measure one gap.
constexpr std::size_t kMaxBeforeGap = 8;
constexpr std::uint64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

class ChunkSweep {
 public:
  ChunkSweep(const FrameSnapshot& frame, codec::BlockDecoder& decoder)
      : frame_(frame), end_(frame.index_at().position), reach_(max_chunk_size(frame.info())) {
    read_starts(decoder);
    choose_headers();
  }

  DeadSpace run(std::uint64_t from) const {
    DeadSpace result;
    result.chunks_are_apart = !is_cut_;
    // Bytes before this position may belong to a chunk.
    std::uint64_t covered = is_cut_ ? starts_.front() + reach_ : from;
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      if (covered < starts_[i]) result.extents.push_back({covered, starts_[i] - covered});
      result.chunks_are_apart &= covered <= starts_[i];
      const auto size = chosen_[i] ? stored_size(i) : std::nullopt;
      if (size && *size > reach_)
        return {};  // the size limit assumed for the other chunks is wrong
      result.chunks_are_apart &= size.has_value();
      covered = std::max(covered, size ? starts_[i] + *size : unknown_end(i));
      result.largest_chunk = std::max(result.largest_chunk, size.value_or(0));
    }
    if (covered < end_) result.extents.push_back({covered, end_ - covered});
    return result;
  }

 private:
  /// Returns an upper bound of a chunk's stored size. A frame of variable-size chunks gives none.
  /// In other frames no compressor makes a chunk much larger than its contents. If a header claims
  /// more, the frame is not trusted.
  static std::uint64_t max_chunk_size(const FrameInfo& info) {
    if (info.variable_chunks || info.chunksize <= 0) return kUnbounded;
    const auto size = static_cast<std::uint64_t>(info.chunksize);
    return size + size / 8 + 4096;
  }

  void read_starts(codec::BlockDecoder& decoder) {
    const auto table = frame_.index();
    if (const auto only = table->uniform_entry(); only && *only < 0) return;
    const auto chunks_at = static_cast<std::uint64_t>(frame_.info().header_len);
    for (std::int64_t page = 0; page < table->page_count(); ++page) {
      for (const std::int64_t entry : table->read_page(page, decoder).entries) {
        if (entry < 0) continue;
        // No reader accepts a chunk that begins behind the chunk area.
        const std::uint64_t start = chunks_at + static_cast<std::uint64_t>(entry);
        if (start < end_) starts_.push_back(start);
      }
      if (starts_.size() >= 2 * kMaxChunks) keep_last();
    }
    if (starts_.size() > kMaxChunks) keep_last();
    std::sort(starts_.begin(), starts_.end());
  }

  /// Keeps only the kMaxChunks starts that are nearest to the end.
  void keep_last() {
    is_cut_ = true;
    const auto last = starts_.begin() + kMaxChunks;
    std::nth_element(starts_.begin(), last, starts_.end(), std::greater<>());
    starts_.erase(last, starts_.end());
  }

  std::uint64_t next_start(std::size_t i) const {
    return i + 1 < starts_.size() ? starts_[i + 1] : end_;
  }

  void choose_headers() {
    chosen_.assign(starts_.size(), starts_.size() <= kMaxHeaders);
    if (starts_.size() <= kMaxHeaders) return;
    std::vector<std::size_t> widest(starts_.size());
    std::iota(widest.begin(), widest.end(), std::size_t{0});
    const auto gap = [&](std::size_t i) { return next_start(i) - starts_[i]; };
    std::partial_sort(widest.begin(), widest.begin() + kMaxHeaders, widest.end(),
                      [&](std::size_t a, std::size_t b) { return gap(a) > gap(b); });
    widest.resize(kMaxHeaders);
    std::size_t left = kMaxHeaders;
    for (const std::size_t i : widest) {
      // Reads the headers of chunk i, and of chunks before it that could reach beyond its start.
      for (std::size_t back = 0; back < std::min(kMaxBeforeGap, i + 1); ++back) {
        if (back > 0 && starts_[i - back] + reach_ <= starts_[i]) break;
        if (left > 0 && !chosen_[i - back]) --left, chosen_[i - back] = true;
      }
      if (left == 0) return;
    }
  }

  /// Returns the size in the chunk's header, or nullopt if it is impossible.
  std::optional<std::uint64_t> stored_size(std::size_t i) const {
    std::array<std::uint8_t, codec::kChunkHeaderBytes> header;
    if (end_ - starts_[i] < header.size()) return std::nullopt;
    if (frame_.contents()->read_at(starts_[i], header) != header.size()) return std::nullopt;
    // The header is not parsed, because chunks with an unknown codec have a size, too.
    const std::int32_t size = boost::endian::load_little_s32(&header[12]);
    if (size < std::int32_t{codec::kChunkHeaderBytes}) return std::nullopt;
    const auto bytes = static_cast<std::uint64_t>(size);
    return bytes <= end_ - starts_[i] ? std::optional(bytes) : std::nullopt;
  }

  /// Returns the largest possible end of a chunk whose size is unknown.
  std::uint64_t unknown_end(std::size_t i) const {
    return std::max(next_start(i), starts_[i] + reach_);
  }

  const FrameSnapshot& frame_;
  std::uint64_t end_;
  std::uint64_t reach_;  ///< most stored bytes of a chunk
  std::vector<std::uint64_t> starts_;
  std::vector<bool> chosen_;  ///< true: read the header of this chunk
  bool is_cut_ = false;       ///< more chunks begin before the first start
};

}  // namespace

DeadSpace find_dead_space(const FrameSnapshot& frame, std::uint64_t from,
                          codec::BlockDecoder& decoder) {
  const FrameInfo& info = frame.info();
  if (info.nchunks > 0) return ChunkSweep(frame, decoder).run(from);
  // The trailer is behind the header, and perhaps again at the end.
  const auto trailer_len = static_cast<std::uint64_t>(info.trailer_len);
  const std::uint64_t first =
      std::max(from, static_cast<std::uint64_t>(info.header_len) + trailer_len);
  const std::uint64_t last = static_cast<std::uint64_t>(info.frame_len) - trailer_len;
  DeadSpace result;
  result.chunks_are_apart = true;
  if (first < last) result.extents.push_back({first, last - first});
  return result;
}

}  // namespace bloscfs::frame::inline cframe
