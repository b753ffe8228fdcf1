#pragma once
// Logs the failures of requests to a store.

#include <string>
#include <system_error>

#include <fmt/core.h>

#include "frame/store/object_tree.hpp"
#include "fs/support/once_log.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// True if the object does not exist.
inline bool is_absent(const std::system_error& error) {
  return error.code() == std::errc::no_such_file_or_directory;
}

/// Returns the result of `ask`. Logs each of its errors once, with the URL of `path`, and throws it
/// again. Two errors are not logged: ENOENT, and the end of a request whose caller has given up.
/// Errors of requests without a user are not logged either. The mount command reports them itself,
/// and a failed look-ahead is repeated.
template <typename Ask>
auto log_failures(const Request& request, OnceLog& log, const frame::ObjectTree& tree,
                  const std::string& path, const Ask& ask) {
  try {
    return ask();
  } catch (const RequestEnded&) {
    throw;
  } catch (const std::system_error& error) {
    if (request.user() && !is_absent(error))
      log.error(request.user(), fmt::format("{}: {}", tree.url(path), error.what()));
    throw;
  }
}

}  // namespace bloscfs::fs
