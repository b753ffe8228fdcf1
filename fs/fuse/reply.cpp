#include "fs/fuse/reply.hpp"

#include <fmt/core.h>

#include "fs/support/error_number.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {

int errno_of(const std::exception& error, const char* operation, const Request& request) noexcept {
  if (const auto known = known_errno(error)) return *known;
  log::error(request.user(), fmt::format("{}: {}", operation, error.what()));
  return errno_of(error);
}

fuse_entry_param entry_param(const FoundNode& found) {
  fuse_entry_param entry{};
  entry.ino = found.id;
  entry.attr = found.attributes;
  entry.attr_timeout = found.is_cacheable ? kCacheSeconds : 0;
  // Not cached if the removal of another file would change what the name shows.
  entry.entry_timeout = found.is_cacheable && !found.is_fallback ? kCacheSeconds : 0;
  return entry;
}

}  // namespace bloscfs::fs
