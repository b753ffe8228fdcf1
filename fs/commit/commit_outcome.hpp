#pragma once
// What a commit, or a step of it, has come to, and what is to be done next.

#include <exception>
#include <functional>
#include <string>
#include <system_error>

#include "fs/content/content.hpp"

namespace bloscfs::fs {

/// What is to be done after a step of a commit, or after all of it.
enum class [[nodiscard]] Next{
    go_on,            ///< the next step; behind the last one the commit is durable
    nothing,          ///< there was nothing to commit
    retry,            ///< commit it again, at once: the file was renamed meanwhile
    retry_alone,      ///< commit it again by itself: the others of its batch would wait for it
    removed,          ///< nothing any more: the file was removed meanwhile
    wait_for_thread,  ///< commit it again when another thread of this mount has let go of it
    wait_for_lock,    ///< commit it again when another program has released its lock
    wait_for_writer,  ///< commit it again when another program has written the whole file
    fail,             ///< tell the error, unless the content can go on from another program's state
};

struct [[nodiscard]] Outcome {
  Next next = Next::go_on;
  std::error_code error = {};  ///< none where it went well
  std::string text = {};       ///< of the error

  /// True where a later try may well succeed, so that nobody is told for a while.
  bool is_locked() const { return next == Next::wait_for_thread || next == Next::wait_for_lock; }
};

/// Of a commit that has thrown `error`; with the errno that error_number.hpp gives it.
Outcome failure_of(const std::exception& error);
/// Does the steps of a commit. What they throw becomes the outcome.
Outcome outcome_of(const std::function<Next()>& steps);
/// The same, but `removed` for each end but go_on and nothing where the content's file was removed
/// meanwhile: then steps fail that go by its name.
Outcome outcome_of(const Content& content, const std::function<Next()>& steps);

}  // namespace bloscfs::fs
