#include "frame/editing/frame_space.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace bloscfs::frame::inline editing {
namespace {

constexpr std::uint64_t kPunchAlignment = 4096;
/// Least size of a hole that punch() makes. A size class of ExtentSet begins at 80 KiB, so that a
/// search for this size meets no smaller extents.
constexpr std::uint64_t kMinPunch = std::uint64_t{80} << 10;
/// Most free extents to remember. If there are more, new ones stay unused.
constexpr std::size_t kMaxExtents = 65536;
constexpr std::uint64_t kMaxStep = std::uint64_t{64} << 10;

std::uint64_t place_step(std::uint64_t size, Placing placing) {
  if (placing == Placing::packed) return 1;
  return std::clamp<std::uint64_t>(std::bit_floor(size) / 16, 1, kMaxStep);
}

std::uint64_t align_place(std::uint64_t start, std::uint64_t step) {
  return codec::ceil_div(start, step) * step;
}

}  // namespace

FrameSpace::FrameSpace(std::uint64_t end, std::uint64_t doubtful_end, const GracePeriod& grace)
    : end_(end), doubtful_end_(doubtful_end), quarantine_(grace) {}

std::uint64_t FrameSpace::take(std::uint64_t size, Placing placing) {
  auto place = find(size, placing);
  if (!place) {
    const std::uint64_t end = end_of_file().start;
    place = Extent{align_place(end, place_step(size, placing)), size};
    take_at({end, place->end() - end});
    // The alignment leaves a gap in front of the chunk.
    give_back({end, place->start - end});
  }
  take_at(*place);
  return place->start;
}

std::optional<Extent> FrameSpace::find(std::uint64_t size, Placing placing) const {
  const std::uint64_t step = place_step(size, placing);
  // An extent of this size has a multiple of `step` where the chunk fits. Without one, any extent
  // does.
  const auto wide = free_.first_fit(size + step - 1);
  return wide ? Extent{align_place(wide->start, step), size} : free_.first_fit(size);
}

void FrameSpace::take_at(const Extent& extent) {
  free_.remove(extent);
  dead_.remove(extent);
  unpunched_.remove(extent);
  // A chunk that this writer puts here shares no bytes with other chunks.
  if (extent.start < doubtful_end_) renewed_.add(extent);
  end_ = std::max(end_, extent.end());
}

void FrameSpace::free(const Extent& extent) {
  if (free_.count() >= kMaxExtents) return;
  free_.add(extent);
  unpunched_.add(extent);
}

void FrameSpace::give_back(const Extent& extent) {
  dead_.add(extent);
  free(extent);
}

Extent FrameSpace::end_of_file() const {
  // Free space that ends here continues behind the end.
  const std::uint64_t start = free_.run_start(end_);
  return {start, std::numeric_limits<std::int64_t>::max() - start};
}

Extent FrameSpace::find_tail(std::uint64_t size, std::uint64_t from) const {
  const auto found = free_.first_fit(size, from);
  if (!found) return end_of_file();
  const std::uint64_t end = free_.run_end(found->start);
  // Free space that reaches the end of the file continues behind it.
  return end == end_ ? end_of_file() : Extent{found->start, end - found->start};
}

std::optional<Extent> FrameSpace::find_before(std::uint64_t size, std::uint64_t before,
                                              Placing placing) const {
  const auto found = find(size, placing);
  return found && found->end() <= before ? found : std::nullopt;
}

std::uint64_t FrameSpace::live_end(const ExtentSet& superseded) const {
  for (std::uint64_t end = end_;;) {
    // Goes backwards from the end over space that is dead now or will be after the commit. [chunk
    // A][dead][superseded] gives the end of A.
    const std::uint64_t start = superseded.run_start(dead_.run_start(end));
    if (start == end) return end;
    end = start;
  }
}

ExtentSet FrameSpace::live_between(std::uint64_t first, std::uint64_t last) const {
  ExtentSet live;
  live.add({first, last - first});
  for (const auto& [start, end] : dead_.extents()) live.remove({start, end - start});
  return live;
}

void FrameSpace::quarantine(std::vector<Extent> extents) {
  for (const Extent& extent : extents) dead_.add(extent);
  quarantine_.add(std::move(extents));
}

void FrameSpace::add_dead(const std::vector<Extent>& extents, Clock::TimePoint since) {
  ExtentSet unknown;
  for (const Extent& extent : extents) unknown.add(extent);
  // Space that is already known as dead keeps its own waiting time.
  for (const auto& [start, end] : dead_.extents()) unknown.remove({start, end - start});
  std::vector<Extent> found;
  for (const auto& [start, end] : unknown.extents()) found.push_back({start, end - start});
  for (const Extent& extent : found) dead_.add(extent);
  quarantine_.add(std::move(found), since);
}

void FrameSpace::supersede(const std::vector<Extent>& extents) {
  quarantine_.begin_state();
  // This commit is durable, so no header on disk can refer to the extents of distrust() any more.
  std::vector<Extent> unshared = std::exchange(distrusted_, {});
  for (const Extent& extent : extents)
    (is_doubtful(extent) ? doubtful_ : unshared).push_back(extent);
  quarantine(std::move(unshared));
}

void FrameSpace::supersede_all(const std::vector<Extent>& extents) {
  doubtful_.clear();
  doubtful_end_ = 0;
  supersede(extents);
}

bool FrameSpace::is_doubtful(const Extent& extent) const {
  return extent.start < doubtful_end_ && !renewed_.contains(extent);
}

void FrameSpace::distrust(const std::vector<Extent>& extents) {
  for (const Extent& extent : extents) dead_.add(extent);
  distrusted_.insert(distrusted_.end(), extents.begin(), extents.end());
}

std::uint64_t FrameSpace::doubtful_total() const {
  std::uint64_t total = 0;
  for (const Extent& extent : doubtful_) total += extent.size;
  return total;
}

void FrameSpace::resolve_doubtful(const std::vector<Extent>& unshared) {
  doubtful_.clear();
  for (const Extent& extent : unshared) renewed_.add(extent);
  quarantine(unshared);
}

void FrameSpace::release(const std::function<bool()>& no_other_process) {
  for (const Extent& extent : quarantine_.release(no_other_process)) free(extent);
}

std::uint64_t FrameSpace::cut_end(std::uint64_t least) {
  const std::uint64_t start = free_.run_start(end_);
  // The caller sets `least` high where a cut must be worth its cost.
  if (end_ - start < std::max<std::uint64_t>(least, 1)) return end_;
  const Extent tail{start, end_ - start};
  free_.remove(tail);
  dead_.remove(tail);
  unpunched_.remove(tail);
  return end_ = start;
}

std::size_t FrameSpace::memory() const {
  return dead_.memory() + free_.memory() + unpunched_.memory() + renewed_.memory() +
         sizeof(Extent) * (doubtful_.size() + distrusted_.size());
}

void FrameSpace::punch(StoreFile& file) {
  while (const auto found = unpunched_.first_fit(kMinPunch)) {
    const std::uint64_t start = found->start, end = unpunched_.run_end(start);
    // Shrinks the hole to whole pages of the file: 5000 to 100000 becomes 8192 to 98304.
    const std::uint64_t first = codec::ceil_div(start, kPunchAlignment) * kPunchAlignment;
    file.punch(first, end / kPunchAlignment * kPunchAlignment - first);
    unpunched_.remove({start, end - start});
  }
}

}  // namespace bloscfs::frame::inline editing
