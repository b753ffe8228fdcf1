#pragma once
// Errors of requests to servers.

#include <string>
#include <system_error>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline remote {

/// Has the errno that a caller sees, and an explanation: the URL, the status, what the answer
/// lacked.
class RemoteError : public std::system_error {
 public:
  RemoteError(int error, std::string explanation)
      : std::system_error(errno_code(error), explanation), explanation_(std::move(explanation)) {}
  const std::string& explanation() const { return explanation_; }
  /// The explanation and the text of the errno. The text of EIO adds nothing, and is left out.
  const char* what() const noexcept override {
    return code() == std::errc::io_error && !explanation_.empty() ? explanation_.c_str()
                                                                  : std::system_error::what();
  }

 private:
  std::string explanation_;
};

}  // namespace bloscfs::frame::inline remote
