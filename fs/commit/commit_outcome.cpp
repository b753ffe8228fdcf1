#include "fs/commit/commit_outcome.hpp"

#include <cerrno>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"
#include "fs/support/error_number.hpp"

namespace bloscfs::fs {

Outcome failure_of(const std::exception& error) {
  const auto* const format = dynamic_cast<const codec::Error*>(&error);
  if (format != nullptr && format->code() == codec::FormatErrc::malformed)
    return {Next::fail, frame::errno_code(EIO),
            fmt::format("the file in SOURCE is damaged: {}; write the whole chunk again, restore "
                        "the file, or save with b2frame repair what still decodes",
                        error.what()),
            true};
  const bool is_locked = dynamic_cast<const frame::LockedByOthers*>(&error) != nullptr;
  return {is_locked ? Next::wait_for_lock : Next::fail, frame::errno_code(errno_of(error)),
          error.what()};
}

Outcome outcome_of(const std::function<Next()>& steps) {
  try {
    const Next next = steps();
    if (next != Next::wait_for_thread) return {next};
    return {next, frame::errno_code(ETIMEDOUT), "another thread is committing the file"};
  } catch (const std::exception& error) {
    return failure_of(error);
  }
}

Outcome outcome_of(const Content& content, const std::function<Next()>& steps) {
  Outcome outcome = outcome_of(steps);
  if (outcome.next == Next::proceed || outcome.next == Next::nothing) return outcome;
  return content.is_orphan() ? Outcome{Next::removed} : outcome;
}

}  // namespace bloscfs::fs
