#pragma once
// Errors of the operating system, as exceptions.

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace bloscfs::frame::inline store {

/// The error that an errno value stands for.
inline std::error_code errno_code(int error) noexcept { return {error, std::generic_category()}; }

/// Throws it as std::system_error, whose what() begins with `context` unless that is empty.
[[noreturn]] inline void throw_errno(int error, std::string_view context = {}) {
  if (context.empty()) throw std::system_error(errno_code(error));
  throw std::system_error(errno_code(error), std::string(context));
}

/// The same with errno, as it is when this is called.
[[noreturn]] inline void throw_errno(std::string_view context = {}) { throw_errno(errno, context); }

}  // namespace bloscfs::frame::inline store
