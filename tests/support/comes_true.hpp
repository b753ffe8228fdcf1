#pragma once
// Waiting for what a mount does by itself, in its time.

#include <unistd.h>

namespace bloscfs::test {

/// Waits for up to ten seconds.
template <typename Condition>
bool comes_true(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    usleep(10000);
  }
  return condition();
}

}  // namespace bloscfs::test
