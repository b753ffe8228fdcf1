#pragma once
// What a store refuses, or cannot give, is told in the log.

#include <string>
#include <system_error>

#include <fmt/core.h>

#include "frame/store/object_tree.hpp"
#include "fs/support/once_log.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// Nothing is there.
inline bool is_absent(const std::system_error& error) {
  return error.code() == std::errc::no_such_file_or_directory;
}

/// What `ask` gives. Its failures are logged with the URL of `path`, each once; but not that
/// nothing is there, nor that who asked has given up. Before the first request whoever mounts tells
/// of them.
template <typename Ask>
auto telling_failures(const Request& request, OnceLog& log, const frame::ObjectTree& tree,
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
