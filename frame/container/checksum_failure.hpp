#pragma once
// The error of a wrong checksum. It has its own type because callers count such failures.

#include <string>
#include <utility>

#include "codec/error.hpp"

namespace bloscfs::frame::inline container {

/// Stored bytes do not match the checksum that is recorded for them.
struct ChecksumFailure : codec::Error {
  explicit ChecksumFailure(std::string context)
      : Error(codec::FormatErrc::malformed, std::move(context)) {}
};

}  // namespace bloscfs::frame::inline container
