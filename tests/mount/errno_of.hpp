#pragma once
// What a system call failed with.

#include <cerrno>

namespace bloscfs::test {

/// errno after a call that returned a negative value, 0 after any other.
inline int errno_of(int result) { return result < 0 ? errno : 0; }

}  // namespace bloscfs::test
