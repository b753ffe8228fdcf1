#pragma once
// What callers are told of an exception. This map to an errno is the only one: a read, an fsync and
// a close tell the same of one file.
//
//   codec::Error: malformed      EIO
//                 unsupported    EOPNOTSUPP
//                 too_large      EFBIG
//                 unwritable     EINVAL
//   frame::LockedByOthers        ETIMEDOUT
//   RequestEnded                 EINTR where it is interrupted, EFBIG where it took too long
//   other std::system_error      its errno, or the one that its category takes it for
//   std::bad_alloc               ENOMEM
//   everything else              EIO

#include <exception>
#include <optional>

namespace bloscfs::fs {

/// Nullopt for what has no errno, which no operation should meet.
std::optional<int> known_errno(const std::exception& error) noexcept;
/// The same, EIO for what has none.
int errno_of(const std::exception& error) noexcept;

}  // namespace bloscfs::fs
