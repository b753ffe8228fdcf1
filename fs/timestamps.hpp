#pragma once
// Times as the filesystem tells them, and as numbers that can be kept and compared.

#include <cstdint>
#include <ctime>

namespace bloscfs::fs {

/// What the clock says.
timespec now();

/// Since 1970; negative before that.
std::int64_t nanoseconds(const timespec& time);
/// The counterpart of nanoseconds().
timespec time_of(std::int64_t nanoseconds);

}  // namespace bloscfs::fs
