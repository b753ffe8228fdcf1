#pragma once
// Counts system calls.

#include "tests/support/fd.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {

/// Counts the system calls of the thread that constructs it. It leaves out those for memory, locks
/// and time, and read(2), which count() itself calls.
class CallCounter {
 public:
  CallCounter();
  /// False if the kernel does not permit counting.
  explicit operator bool() const { return static_cast<bool>(fd_); }
  int count() const;

 private:
  Fd fd_;
};

/// Requires that system calls can be counted, and that neither ASan nor TSan adds any.
Precondition needs_call_counts(boost::unit_test::test_unit_id);

}  // namespace bloscfs::test
