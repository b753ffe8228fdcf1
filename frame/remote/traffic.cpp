#include "frame/remote/traffic.hpp"

#include <algorithm>

namespace bloscfs::frame::inline remote {
namespace {

constexpr std::size_t kLeastBudget = std::size_t{1} << 20;

}  // namespace

Traffic::Traffic(std::size_t budget, unsigned transfers)
    : budget_(std::max(budget, kLeastBudget)),
      most_(std::max(1U, transfers)),
      most_expected_(std::max(1U, most_ - most_ / 4)) {}

TrafficNumbers Traffic::numbers() const {
  const std::lock_guard guard(mutex_);
  return numbers_;
}

Traffic::Lines::iterator Traffic::line_of(const void* object) {
  return std::find_if(lines_.begin(), lines_.end(),
                      [&](const Line& line) { return line.object == object; });
}

void Traffic::add(const void* object, const std::shared_ptr<Load>& load, bool urgent) {
  const std::lock_guard guard(mutex_);
  auto line = line_of(object);
  if (line == lines_.end()) line = lines_.insert(lines_.end(), Line{object, {}, {}});
  (urgent ? line->urgent : line->later).push_back(load);
}

void Traffic::make_urgent(const void* object, const Load& load) {
  const std::lock_guard guard(mutex_);
  const auto line = line_of(object);
  if (line == lines_.end()) return;
  const auto found =
      std::find_if(line->later.begin(), line->later.end(),
                   [&](const std::weak_ptr<Load>& some) { return some.lock().get() == &load; });
  if (found == line->later.end()) return;
  line->urgent.push_back(*found);
  line->later.erase(found);
}

/// Returns the first load of that kind, and moves its object to the end of the round robin. If the
/// budget is full, no load overtakes another: small ranges would delay a large one for ever.
std::shared_ptr<Load> Traffic::next_of(std::deque<std::weak_ptr<Load>> Line::*kind,
                                       bool within_budget) {
  for (auto line = lines_.begin(); line != lines_.end(); ++line) {
    std::deque<std::weak_ptr<Load>>& waiting = (*line).*kind;
    while (!waiting.empty()) {
      std::shared_ptr<Load> load = waiting.front().lock();
      if (load && within_budget && numbers_.bytes_held + load->size() > budget_) return nullptr;
      waiting.pop_front();
      if (!load) continue;
      lines_.splice(lines_.end(), lines_, line);
      return load;
    }
  }
  return nullptr;
}

std::shared_ptr<Load> Traffic::next() {
  const std::lock_guard guard(mutex_);
  std::shared_ptr<Load> load;
  if (transfers_ < most_) load = next_of(&Line::urgent, false);
  if (!load && transfers_ < most_expected_) load = next_of(&Line::later, true);
  lines_.remove_if([](const Line& line) { return line.urgent.empty() && line.later.empty(); });
  if (!load) return nullptr;
  ++transfers_;
  ++numbers_.requests;
  numbers_.bytes_under_way += load->size();
  numbers_.bytes_held += load->size();
  return load;
}

void Traffic::pump() {
  while (const std::shared_ptr<Load> load = next()) load->start();
}

void Traffic::paused() {
  const std::lock_guard guard(mutex_);
  --transfers_;
}

void Traffic::resumed() {
  const std::lock_guard guard(mutex_);
  ++transfers_;
}

void Traffic::ended(std::size_t size, std::size_t received, bool is_paused) {
  const std::lock_guard guard(mutex_);
  if (!is_paused) --transfers_;
  numbers_.bytes_under_way -= size;
  numbers_.bytes_received += received;
}

void Traffic::released(std::size_t size) {
  const std::lock_guard guard(mutex_);
  numbers_.bytes_held -= size;
}

void Traffic::hold(std::size_t size) {
  const std::lock_guard guard(mutex_);
  numbers_.bytes_held += size;
}

void Traffic::note_request(std::size_t received) {
  const std::lock_guard guard(mutex_);
  ++numbers_.requests;
  numbers_.bytes_received += received;
}

std::shared_ptr<Traffic> traffic_of(const RemoteSettings& settings) {
  return std::make_shared<Traffic>(settings.max_bytes_in_flight, settings.connections);
}

}  // namespace bloscfs::frame::inline remote
