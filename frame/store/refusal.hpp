#pragma once
// Errors that say what is so, apart from those that say what went wrong: who asks again is told the
// same until somebody changes that. Only these may be taken for an answer and remembered. Others
// (EMFILE, ENOMEM, EIO, ETIMEDOUT...) are this moment's trouble, of which nothing follows.

#include <cerrno>
#include <initializer_list>
#include <system_error>

namespace bloscfs::frame::inline store {

inline bool is_one_of(const std::error_code& error, std::initializer_list<std::errc> kinds) {
  for (const std::errc kind : kinds)
    if (error == kind) return true;
  return false;
}

/// "Not you".
inline bool is_denial(const std::error_code& error) {
  return is_one_of(error, {std::errc::permission_denied, std::errc::operation_not_permitted});
}

/// "Not there", or not any more, or not on this filesystem.
inline bool is_absence(const std::error_code& error) {
  return is_one_of(error, {std::errc::no_such_file_or_directory, std::errc::not_a_directory,
                           std::errc::filename_too_long, std::errc::cross_device_link,
                           std::errc::too_many_symbolic_link_levels, std::errc(ESTALE)});
}

inline bool is_refusal(const std::error_code& error) {
  return is_denial(error) || is_absence(error);
}

}  // namespace bloscfs::frame::inline store
