#pragma once
// Going into the background, of which the caller learns whether it has worked.

#include "frame/store/byte_source.hpp"

namespace bloscfs::fs {

/// From its construction on the program goes on in a child process. The caller's process stays in
/// the constructor and ends there: with status 0 when the child calls leave_caller(), else with the
/// status that the child ends with. Who ends it before ends the child as well.
class Background {
 public:
  /// To be called while there are no other threads. Throws std::system_error.
  Background();

  /// Gives up the caller's session and standard streams, and tells it that the start has worked.
  /// Called by the thread that made the object. Throws std::system_error.
  void leave_caller();

 private:
  frame::UniqueFd nothing_;  ///< what the standard streams become
  frame::UniqueFd ready_;    ///< the child's end of a pipe: a byte says that it is
};

}  // namespace bloscfs::fs
