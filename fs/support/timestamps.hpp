#pragma once
// Times as the filesystem tells them, and as numbers that can be kept and compared.

#include <cstdint>
#include <ctime>

#include <sys/stat.h>

#include "frame/store/byte_source.hpp"

namespace bloscfs::fs {

/// For functions that set times as utimensat(2): the time stays as it is.
inline constexpr timespec kUnchangedTime{0, UTIME_OMIT};
/// The same: it becomes the present.
inline constexpr timespec kPresentTime{0, UTIME_NOW};

/// What the clock says.
timespec now();

/// Since 1970; negative before that. Times that programs set may be too far from that: what stands
/// for those is good to be compared, and for nothing else.
std::int64_t nanoseconds(const timespec& time);
/// The counterpart of nanoseconds(), of a clock's time.
timespec time_of(std::int64_t nanoseconds);
timespec modification_time(const frame::FileStamp& stamp);

}  // namespace bloscfs::fs
