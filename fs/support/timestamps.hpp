#pragma once
// Timestamps as the filesystem reports them, and as integers that can be stored and compared.

#include <cstdint>
#include <ctime>

#include <sys/stat.h>

#include "frame/store/byte_source.hpp"

namespace bloscfs::fs {

/// For functions that set times like utimensat(2): leaves the time as it is.
inline constexpr timespec kUnchangedTime{0, UTIME_OMIT};
/// For the same functions: sets the current time.
inline constexpr timespec kPresentTime{0, UTIME_NOW};

/// The current time of CLOCK_REALTIME.
timespec now();

/// Nanoseconds since 1970, negative before. Programs may set times that are out of range. Their
/// values wrap around and serve only for comparison.
std::int64_t nanoseconds(const timespec& time);
/// The inverse of nanoseconds(), for times in its range.
timespec time_of(std::int64_t nanoseconds);
timespec modification_time(const frame::FileStamp& stamp);

}  // namespace bloscfs::fs
