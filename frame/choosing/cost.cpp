#include "frame/choosing/cost.hpp"

#include <array>
#include <cmath>

namespace bloscfs::frame::inline choosing {
namespace {

/// Time of encoding and decoding at the levels 0 to 9.
using LevelCosts = std::array<double, 10>;
constexpr LevelCosts kBloscLzCosts = {0.2, 1.6, 1.8, 2, 2.2, 2.5, 3, 3, 3.2, 3.5};
constexpr LevelCosts kLz4Costs = {0.2, 1.7, 1.8, 1.9, 2, 2, 2.1, 2.2, 2.4, 2.6};
constexpr LevelCosts kLz4HcCosts = {0.2, 10, 12, 14, 16, 18, 20, 24, 28, 32};
constexpr LevelCosts kZlibCosts = {0.2, 15, 17, 20, 25, 35, 45, 60, 80, 100};
constexpr LevelCosts kZstdCosts = {0.2, 3.5, 5.5, 10, 14, 20, 32, 60, 100, 500};

const LevelCosts& level_costs(codec::CodecId id) {
  switch (id) {
    case codec::CodecId::blosclz:
      return kBloscLzCosts;
    case codec::CodecId::lz4:
      return kLz4Costs;
    case codec::CodecId::lz4hc:
      return kLz4HcCosts;
    case codec::CodecId::zstd:
      return kZstdCosts;
    default:
      return kZlibCosts;
  }
}

double filter_cost(codec::FilterId id) {
  switch (id) {
    case codec::FilterId::none:
      return 0;
    case codec::FilterId::shuffle:
      return 0.2;
    default:
      return 0.5;
  }
}

/// Factor for blocks larger than usual, because a random read of one byte has to decode the whole
/// block.
constexpr double kLargeBlocks = 1.2;

/// Returns the saving, as a fraction of the size, that must pay for twice the time.
double required_saving(Goal goal) {
  switch (goal) {
    case Goal::ratio:
      return 0.005;
    case Goal::balanced:
      return 0.08;
    case Goal::speed:
      return 0.4;
  }
  return 0;
}

}  // namespace

const char* goal_name(Goal goal) {
  switch (goal) {
    case Goal::ratio:
      return "ratio";
    case Goal::balanced:
      return "balanced";
    case Goal::speed:
      return "speed";
  }
  return "";
}

double time_cost(const codec::EncodeSettings& settings) {
  double cost = level_costs(settings.codec)[static_cast<std::size_t>(settings.clevel)];
  for (const codec::FilterStep& step : settings.filters) cost += filter_cost(step.id);
  return settings.blocksize != 0 ? cost * kLargeBlocks : cost;
}

double penalty(Goal goal, const codec::EncodeSettings& settings, double stored) {
  return std::log(stored) - std::log(1 - required_saving(goal)) * std::log2(time_cost(settings));
}

}  // namespace bloscfs::frame::inline choosing
