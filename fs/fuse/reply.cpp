#include "fs/fuse/reply.hpp"

#include <cerrno>
#include <new>
#include <system_error>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {

int errno_of(const std::exception& error, const char* operation) noexcept {
  if (const auto* system = dynamic_cast<const std::system_error*>(&error)) {
    if (system->code().category() == std::generic_category() ||
        system->code().category() == std::system_category())
      return system->code().value();
    return system->code().default_error_condition().value();
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return ENOMEM;
  log::error(fmt::format("{}: {}", operation, error.what()));
  return EIO;
}

Caller caller_of(fuse_req_t request) {
  const fuse_ctx* context = fuse_req_ctx(request);
  return {context->uid, context->gid, context->umask, context->pid};
}

fuse_entry_param entry_param(const Tree::Found& found) {
  fuse_entry_param entry{};
  entry.ino = found.id;
  entry.attr = found.attributes;
  entry.attr_timeout = kCacheSeconds;
  // What another file's removal would rename is looked up each time.
  entry.entry_timeout = found.is_fallback ? 0 : kCacheSeconds;
  return entry;
}

}  // namespace bloscfs::fs
