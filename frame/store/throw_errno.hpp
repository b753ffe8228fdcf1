#pragma once
// Errors of the operating system, as exceptions.

#include <string>
#include <system_error>

namespace bloscfs::frame {

/// Throws what an errno value stands for.
[[noreturn]] inline void throw_errno(int error, const std::string& context) {
  throw std::system_error(error, std::generic_category(), context);
}

}  // namespace bloscfs::frame
