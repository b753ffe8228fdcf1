#pragma once
// Runs a check once for each instruction set that this machine has.

#include <cstdint>

#include <boost/test/unit_test.hpp>
#include <hwy/targets.h>

namespace bloscfs::test {

/// Also runs the check without any of them, as old machines do.
template <typename Check>
void for_each_target(const Check& check) {
  const std::int64_t all = hwy::SupportedTargets();
  for (std::int64_t left = all; left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    hwy::GetChosenTarget().Update(target);
    BOOST_TEST_CONTEXT("instruction set " << hwy::TargetName(target)) { check(); }
  }
  hwy::GetChosenTarget().Update(all);
}

}  // namespace bloscfs::test
