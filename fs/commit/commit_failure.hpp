#pragma once
// What a commit has failed with.

#include <exception>
#include <string>
#include <system_error>

#include "fs/content/content.hpp"

namespace bloscfs::fs {

/// What stands in the way of a commit, of which nobody need know for a while.
enum class Obstacle {
  none,
  unfinished,  ///< another program is writing the file
  locked,      ///< another program has a lock on it, or another thread commits it
  long_work,   ///< it is to be committed alone
};

struct CommitFailure {
  std::error_code code;  ///< none: it went well
  std::string text;
  Obstacle obstacle = Obstacle::none;
  bool is_own_lock = false;  ///< locked, by a thread of this mount
};

/// With the errno that error_number.hpp gives it.
CommitFailure failure_of(const std::exception& error);
/// Nothing where the content's file was removed meanwhile, which asks for no commit.
CommitFailure failure_of(const Content& content, const std::exception& error);
/// True for what a second try may not meet.
bool asks_again(const CommitFailure& failure);

}  // namespace bloscfs::fs
