#pragma once
// Times two ways of doing one thing in alternation, so that changes of the machine's speed affect
// both.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace bloscfs::test {

/// Medians over all rounds.
struct Comparison {
  double ours = 0;    ///< seconds for one call
  double theirs = 0;  ///< seconds for one call
  double ratio = 0;   ///< theirs / ours of the same round
};

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <typename Work>
double seconds_of(std::size_t calls, const Work& work) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < calls; ++i) work();
  const std::chrono::duration<double> taken = Clock::now() - begin;
  return taken.count() / static_cast<double>(calls);
}

/// Returns the median of the seconds for one call, without a comparison.
template <typename Work>
double typical_seconds(std::size_t rounds, const Work& work) {
  constexpr std::size_t kCalls = 100;
  std::vector<double> times;
  for (std::size_t i = 0; i < rounds; ++i) times.push_back(seconds_of(kCalls, work));
  return median(times);
}

/// Runs `rounds` rounds, or fewer if they would take more than 3 seconds in total.
template <typename Ours, typename Theirs>
Comparison compare(std::size_t rounds, const Ours& ours, const Theirs& theirs) {
  constexpr double kTurn = 3e-3;
  constexpr double kMost = 3;
  constexpr std::size_t kFewest = 3;
  ours();
  theirs();
  const double once = seconds_of(1, theirs);
  const std::size_t calls = 1 + static_cast<std::size_t>(kTurn / once);
  if (once * 2 * static_cast<double>(rounds) > kMost) {
    rounds = std::max(kFewest, static_cast<std::size_t>(kMost / (2 * once)));
  }
  std::vector<double> our_times, their_times, ratios;
  for (std::size_t i = 0; i < rounds; ++i) {
    const bool first = i % 2 == 0;
    const double before = first ? seconds_of(calls, ours) : 0;
    their_times.push_back(seconds_of(calls, theirs));
    our_times.push_back(first ? before : seconds_of(calls, ours));
    ratios.push_back(their_times.back() / our_times.back());
  }
  return {median(our_times), median(their_times), median(ratios)};
}

}  // namespace bloscfs::test
