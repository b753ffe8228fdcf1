#pragma once
// Operations that may take long, which are served in their user's turn.

#include <cstdint>
#include <exception>
#include <functional>
#include <utility>

#include <fuse_lowlevel.h>

#include "fs/fuse/reply.hpp"
#include "fs/support/request_user.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {

/// What happens to a request that still waits for its turn when the session ends.
enum class AtSessionEnd : std::uint8_t {
  refuse,  ///< ENOTCONN, like the kernel's answer to a request that nobody has read
  serve,
};

/// Keeps a request for `node` until its user has a turn: `work` is called then, or at once where
/// there is one by now. A request that is interrupted meanwhile is answered EINTR. True if this
/// thread has a turn of the user now.
bool wait_for_turn(fuse_req_t request, NodeId node, std::function<void()> work,
                   AtSessionEnd at_end) noexcept;

/// Ends the turn of this thread, and serves those that wait for it.
void end_turn(Turns& turns, uid_t user) noexcept;

/// As guarded(), for a request for `node` and a body that calls TurnAtNeed::need() before it takes
/// long. Where there is no turn to be had then it is called once more, perhaps by another thread:
/// so it must not have changed anything by then, and a copy of it must know all it needs.
template <typename Body>
void in_turn(fuse_req_t request, NodeId node, const char* operation, const Body& body,
             AtSessionEnd at_end = AtSessionEnd::refuse) noexcept {
  Turns& turns = *mount_state(request).turns;
  const uid_t user = fuse_req_ctx(request)->uid;
  bool has_turn = false, must_wait = false;
  {
    const RequestUser on_whose_account(user);
    const TurnAtNeed turn(turns, user);
    try {
      body();
    } catch (const NoTurn&) {
      must_wait = true;
    } catch (const std::exception& error) {
      fuse_reply_err(request, errno_of(error, operation));
    }
    has_turn = turn.has_begun();
  }
  if (must_wait)
    has_turn = wait_for_turn(
        request, node, [=] { guarded(request, operation, body); }, at_end);
  RequestWatch::end_served();
  if (has_turn) end_turn(turns, user);
}

}  // namespace bloscfs::fs
