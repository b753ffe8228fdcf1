#pragma once
// The error of a wrong checksum, apart from others, since such failures are counted.

#include <string>
#include <utility>

#include "codec/error.hpp"

namespace bloscfs::frame::inline container {

/// Stored bytes do not have the checksum that is recorded for them.
struct ChecksumFailure : codec::Error {
  explicit ChecksumFailure(std::string context)
      : Error(codec::FormatErrc::malformed, std::move(context)) {}
};

}  // namespace bloscfs::frame::inline container
