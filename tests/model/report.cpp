#include "tests/model/report.hpp"

#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <random>

#include <boost/test/unit_test.hpp>

#include "tests/support/sanitizers.hpp"

namespace bloscfs::test {

namespace {

constexpr std::uint64_t kOperations = kSanitized ? 4000 : 20000;
constexpr std::uint64_t kVariants = 5;
/// With so many operations, each kind is chosen at least once.
constexpr std::uint64_t kEnough = 3000;

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

}  // namespace

RunSize run_size() {
  static const std::uint64_t seed = number_in("BLOSCFS_MODEL_SEED", std::random_device{}());
  return {number_in("BLOSCFS_MODEL_OPERATIONS", kOperations) / kVariants, seed};
}

void add_counts(Counts& sum, const Counts& more) {
  for (const auto& [name, count] : more) {
    sum[name].worked += count.worked;
    sum[name].failed += count.failed;
    sum[name].refused += count.refused;
  }
}

void print_counts(const std::string& variant, const Counts& counts) {
  const RunSize size = run_size();
  std::cout << variant << ": " << size.operations << " operations from seed " << size.seed << "\n";
  for (const auto& [name, count] : counts)
    std::cout << "  " << std::left << std::setw(18) << name << std::right << std::setw(8)
              << count.worked << " worked" << std::setw(7) << count.failed << " failed alike"
              << std::setw(6) << count.refused << " refused\n";
  std::cout << std::flush;
}

void require_all_kinds(const OperationKinds& kinds, const Counts& counts) {
  if (run_size().operations < kEnough) return;
  for (const auto& kind : kinds) {
    const auto count = counts.find(kind.name);
    BOOST_TEST((count != counts.end() && count->second.worked > 0), kind.name << " never worked");
  }
}

}  // namespace bloscfs::test
