#pragma once
// The result of a commit or of one of its steps, and what to do next.

#include <exception>
#include <functional>
#include <string>
#include <system_error>

#include "fs/content/content.hpp"

namespace bloscfs::fs {

/// The action that follows a step of a commit, or all its steps.
enum class [[nodiscard]] Next{
    proceed,          ///< do the next step; after the last step the commit is durable
    nothing,          ///< there was nothing to commit
    retry,            ///< commit again at once: the file was renamed in the meantime
    retry_alone,      ///< commit again, alone: the other commits of the batch would wait for this
                      ///< one
    removed,          ///< nothing to do: the file was removed in the meantime
    wait_for_thread,  ///< commit again after another thread of this mount has released the content
    wait_for_lock,    ///< commit again after another program has released its lock
    wait_for_writer,  ///< commit again after another program has finished writing the file
    fail,             ///< report the error, unless the content can go on from another program's
                      ///< state
};

struct [[nodiscard]] Outcome {
  Next next = Next::proceed;
  std::error_code error = {};  ///< no error if the commit succeeded
  std::string text = {};       ///< text of the error
  bool is_damage = false;      ///< the file in SOURCE is damaged; `text` says how to mend it

  /// True if a retry may well succeed, so that the error is not reported for a while.
  bool is_locked() const { return next == Next::wait_for_thread || next == Next::wait_for_lock; }
};

/// Returns the outcome of a commit that threw `error`, with the errno of error_number.hpp.
Outcome failure_of(const std::exception& error);
/// Runs the steps of a commit. Turns exceptions into the outcome.
Outcome outcome_of(const std::function<Next()>& steps);
/// Runs the steps of a commit of `content`, and turns exceptions into the outcome. If the file was
/// removed during the commit, steps that use its name fail. So then returns `removed`, unless the
/// outcome is proceed or nothing.
Outcome outcome_of(const Content& content, const std::function<Next()>& steps);

}  // namespace bloscfs::fs
