#include "tools/report/examination.hpp"

#include <algorithm>
#include <thread>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "tools/interrupt.hpp"
#include "tools/progress.hpp"
#include "tools/remote_files.hpp"

namespace bloscfs::tools {
namespace {

/// Limits for a local and for a remote frame: bytes of contents to decode, chunks to look at, and
/// bytes to decode for pictures.
struct Effort {
  std::int64_t decoded, chunks, picture;
};
constexpr Effort kNearEffort{std::int64_t{2} << 30, std::int64_t{1} << 18, std::int64_t{256} << 20};
constexpr Effort kFarEffort{std::int64_t{16} << 20, 256, std::int64_t{8} << 20};

const Effort& effort_for(const Input& input) {
  return input.snapshot().is_over_network() ? kFarEffort : kNearEffort;
}

/// Returns the bytes of the contents of all vlmetalayers. Skips damaged vlmetalayers, which the
/// verifier reports. Stops when the sum exceeds `most`.
std::int64_t vlmetalayer_bytes(const frame::Snapshot& snapshot, std::int64_t most) {
  std::int64_t sum = 0;
  for (const auto& entry : snapshot.vlmetalayers()) {
    try {
      sum += snapshot.vlmetalayer_size(entry);
    } catch (const codec::Error&) {
    }
    if (sum > most) break;
  }
  return sum;
}

class Examiner {
 public:
  Examiner(fs::Request& request, Input& input)
      : input_(input),
        effort_(effort_for(input)),
        result_(fs::survey_chunks(request, input.reader(), {.chunks = effort_.chunks})) {}

  Examination run() {
    choose_step();
    Progress progress("report", input_.info().nchunks, Progress::Unit::items);
    Verifier verifier(
        input_, "", std::max(1U, std::thread::hardware_concurrency()),
        [this](const Finding& finding) { add(finding); },
        [&](double part) {
          throw_if_interrupted();
          progress.update(
              static_cast<std::int64_t>(part * static_cast<double>(input_.info().nchunks)));
        });
    if (is_whole_)
      verifier.run();
    else
      verifier.run_sample(result_.step);
    add_faults();
    return std::move(result_);
  }

 private:
  void choose_step() {
    const fs::ChunkCounts& all = result_.survey.all;
    const std::int64_t count = input_.info().nchunks;
    const std::int64_t chunk_bytes =
        std::max<std::int64_t>(1, all.nbytes / std::max<std::int64_t>(1, all.stored));
    const std::int64_t most =
        std::clamp<std::int64_t>(effort_.decoded / chunk_bytes, 1, effort_.chunks);
    is_whole_ = !result_.survey.is_sample && all.stored <= most &&
                vlmetalayer_bytes(input_.snapshot(), effort_.decoded) <= effort_.decoded;
    if (is_whole_) return;
    // Only chunks with stored bytes cost time.
    const double stored_share =
        static_cast<double>(all.stored) / static_cast<double>(std::max<std::int64_t>(1, all.seen));
    const double stored = static_cast<double>(count) * stored_share;
    result_.step = std::max(codec::ceil_div(count, effort_.chunks),
                            static_cast<std::int64_t>(stored / static_cast<double>(most)) + 1);
  }

  void add(const Finding& finding) {
    result_.found++;
    result_.worst = std::max(result_.worst, finding.health);
    if (finding.chunk >= 0) noted_.push_back(finding.chunk);
    if (finding.chunk >= 0 && finding.health != Health::unsupported)
      result_.survey.note_damage(finding.chunk);
    if (result_.findings.size() < kListedFindings) result_.findings.push_back(finding);
  }

  /// Adds chunks that the survey could not open, and that the verifier has not reported.
  void add_faults() {
    std::sort(noted_.begin(), noted_.end());
    // Searches a copy, because add() changes `noted_`.
    const std::vector<std::int64_t> told = noted_;
    for (const auto& fault : result_.survey.faults)
      if (!std::binary_search(told.begin(), told.end(), fault.chunk))
        add({fmt::format("chunk {}", fault.chunk), Health::damaged, fault.reason, fault.chunk});
  }

  Input& input_;
  const Effort& effort_;
  Examination result_;
  bool is_whole_ = true;             ///< decodes all chunks and vlmetalayers, not a sample
  std::vector<std::int64_t> noted_;  ///< chunks with findings
};

}  // namespace

Examination examine(Input& input) {
  fs::Request request;
  return Examiner(request, input).run();
}

fs::PictureLimits picture_limits(const Input& input) {
  fs::PictureLimits limits;
  limits.decoded = effort_for(input).picture;
  return limits;
}

}  // namespace bloscfs::tools
