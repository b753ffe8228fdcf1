#pragma once
// Moves the program into the background, and tells the caller whether the start has worked.

#include "frame/store/byte_source.hpp"

namespace bloscfs::fs {

/// Forks: the program goes on in a child process. The caller's process stays in the constructor and
/// exits there. Its status is 0 once the child calls detach_from_caller(), else the status of the
/// child. If the caller's process is killed before, the child ends too.
class Background {
 public:
  /// To be called while there are no other threads. Throws std::system_error.
  Background();

  /// Leaves the caller's session and standard streams, and reports to the caller that the start has
  /// worked. Called by the thread that made the object. Throws std::system_error.
  void detach_from_caller();

 private:
  frame::UniqueFd nothing_;  ///< /dev/null, for the standard streams
  frame::UniqueFd ready_;    ///< the child's end of a pipe: a byte reports success
};

}  // namespace bloscfs::fs
