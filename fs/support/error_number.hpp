#pragma once
// Maps an exception to the errno that the calling program gets. Reads, fsync and close all use this
// map, so they report the same errno for the same failure.
//
//   codec::Error: malformed      EIO
//                 unsupported    EOPNOTSUPP
//                 too_large      EFBIG
//                 unwritable     EINVAL
//   frame::LockedByOthers        ETIMEDOUT
//   RequestEnded                 EINTR if it was interrupted, EFBIG if it took too long
//   other std::system_error      its errno, or the errno that its category maps the code to
//   std::bad_alloc               ENOMEM
//   everything else              EIO

#include <exception>
#include <optional>

namespace bloscfs::fs {

/// Returns nullopt if the exception has no errno. No operation should throw such an exception.
std::optional<int> known_errno(const std::exception& error) noexcept;
/// Returns EIO if the exception has no errno.
int errno_of(const std::exception& error) noexcept;

}  // namespace bloscfs::fs
