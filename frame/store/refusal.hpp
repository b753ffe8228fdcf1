#pragma once
// Distinguishes errors that are answers, such as ENOENT, from temporary failures. A repeated call
// gets the same answer until somebody changes the file or its permissions. Only answers may be
// remembered. Other errors (EMFILE, ENOMEM, EIO, ETIMEDOUT...) say nothing about a later call.

#include <cerrno>
#include <initializer_list>
#include <system_error>

namespace bloscfs::frame::inline store {

inline bool is_one_of(const std::error_code& error, std::initializer_list<std::errc> kinds) {
  for (const std::errc kind : kinds)
    if (error == kind) return true;
  return false;
}

/// True if access was denied.
inline bool is_denial(const std::error_code& error) {
  return is_one_of(error, {std::errc::permission_denied, std::errc::operation_not_permitted});
}

/// True if the object does not exist, no longer exists, or is not on this filesystem.
inline bool is_absence(const std::error_code& error) {
  return is_one_of(error, {std::errc::no_such_file_or_directory, std::errc::not_a_directory,
                           std::errc::filename_too_long, std::errc::cross_device_link,
                           std::errc::too_many_symbolic_link_levels, std::errc(ESTALE)});
}

inline bool is_refusal(const std::error_code& error) {
  return is_denial(error) || is_absence(error);
}

}  // namespace bloscfs::frame::inline store
