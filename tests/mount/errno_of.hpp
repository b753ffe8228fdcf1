#pragma once
// The error number of a system call.

#include <cerrno>

namespace bloscfs::test {

/// Returns errno if the call returned a negative number, 0 otherwise.
inline int errno_of(int result) { return result < 0 ? errno : 0; }

}  // namespace bloscfs::test
