#pragma once
// Errors of the operating system, as exceptions.

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace bloscfs::frame::inline store {

/// Returns the error code of an errno value.
inline std::error_code errno_code(int error) noexcept { return {error, std::generic_category()}; }

/// Throws std::system_error. Its what() begins with `context` unless that is empty.
[[noreturn]] inline void throw_errno(int error, std::string_view context = {}) {
  if (context.empty()) throw std::system_error(errno_code(error));
  throw std::system_error(errno_code(error), std::string(context));
}

/// Like throw_errno(error, context), with the current errno.
[[noreturn]] inline void throw_errno(std::string_view context = {}) { throw_errno(errno, context); }

}  // namespace bloscfs::frame::inline store
