#include "tools/chunk_summary.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

#include "codec/error.hpp"
#include "frame/cframe/cframe.hpp"
#include "tools/progress.hpp"

namespace bloscfs::tools {
namespace {

/// Maximum number of ratios for the median. They take 8 MiB.
constexpr std::int64_t kMaxSample = 1 << 20;

class Summariser {
 public:
  explicit Summariser(Input& input)
      : input_(input),
        stride_(input.info().nchunks / kMaxSample + 1),
        progress_("info", input.info().nchunks) {}

  ChunkSummary run() {
    if (const auto special = input_.snapshot().all_chunks_special())
      count_special(*special, input_.info().nchunks);
    else
      for_each_page(input_.reader(), [this](const frame::IndexPage& page) {
        add_page(page);
        return true;
      });
    finish_ratios();
    return summary_;
  }

 private:
  void count_special(codec::SpecialValue value, std::int64_t chunks) {
    summary_.special.at(static_cast<std::size_t>(value)) += chunks;
  }

  void add_page(const frame::IndexPage& page) {
    const std::int64_t first = page.first_chunk();
    if (page.uniform_special()) return count_special(page.place(first).special, page.chunk_count());
    for (std::int64_t chunk = first; chunk < first + page.chunk_count(); chunk++) {
      try {
        add_chunk(page.place(chunk));
      } catch (const codec::Error&) {
        summary_.damaged++;
      }
      progress_.update(chunk);
    }
  }

  void add_chunk(const frame::ChunkPlace& place) {
    if (place.special != codec::SpecialValue::none) return count_special(place.special, 1);
    fs::Request request;
    const codec::ChunkHeader header =
        input_.reader().open_chunk(request, place.number)->chunk.header();
    if (header.is_special())
      count_special(header.special, 1);
    else
      summary_.stored++;
    summary_.stored_bytes += header.cbytes;
    add_ratio(static_cast<double>(header.nbytes) / static_cast<double>(header.cbytes),
              place.number);
  }

  void add_ratio(double ratio, std::int64_t chunk) {
    lowest_ = std::min(lowest_, ratio);
    highest_ = std::max(highest_, ratio);
    if (sample_.empty() || chunk % stride_ == 0) sample_.push_back(ratio);
  }

  void finish_ratios() {
    if (sample_.empty()) return;
    std::sort(sample_.begin(), sample_.end());
    const double upper = sample_[sample_.size() / 2];
    const double lower = sample_[(sample_.size() - 1) / 2];
    summary_.ratio = {lowest_, (lower + upper) / 2, highest_};
  }

  Input& input_;
  const std::int64_t stride_;
  Progress progress_;
  ChunkSummary summary_;
  std::vector<double> sample_;
  double lowest_ = std::numeric_limits<double>::infinity();
  double highest_ = 0;
};

std::int64_t chunk_file_bytes(const std::string& directory) {
  std::int64_t sum = 0;
  std::error_code removed;  // files may be removed during the loop
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".chunk" || !entry.is_regular_file(removed)) continue;
    const auto size = entry.file_size(removed);
    if (!removed) sum += static_cast<std::int64_t>(size);
  }
  return sum;
}

/// Returns the bytes between header and trailer. For a frame without contents, they come from the
/// lengths, because cbytes may still be those of earlier contents.
std::int64_t chunk_area_bytes(const frame::FrameInfo& info) {
  return info.nbytes > 0 ? info.cbytes : info.frame_len - info.header_len - info.trailer_len;
}

/// Returns the bytes behind the end of the frame in its file, or 0 if another frame begins there.
std::int64_t bytes_behind(const frame::Snapshot& snapshot) {
  const std::int64_t frame_len = snapshot.info().frame_len;
  const std::int64_t bytes = snapshot.stamp().size - frame_len;
  return bytes > 0 &&
                 !frame::has_frame_at(*snapshot.source(), static_cast<std::uint64_t>(frame_len))
             ? bytes
             : 0;
}

}  // namespace

ChunkSummary summarise_chunks(Input& input) { return Summariser(input).run(); }

std::optional<std::int64_t> dead_space(const std::string& path, const frame::Snapshot& snapshot,
                                       const ChunkSummary& chunks) {
  const frame::FrameInfo& info = snapshot.info();
  if (chunks.damaged > 0 || info.is_read_only()) return std::nullopt;
  const std::int64_t taken = info.is_directory() ? chunk_file_bytes(path)
                                                 : chunk_area_bytes(info) + bytes_behind(snapshot);
  return std::max<std::int64_t>(0, taken - chunks.stored_bytes);
}

}  // namespace bloscfs::tools
