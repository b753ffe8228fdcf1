#include "fs/fuse/in_turn.hpp"

#include <cerrno>
#include <optional>
#include <system_error>

namespace bloscfs::fs {
namespace {

/// libfuse calls it at once if the request is interrupted already, which finds nothing then.
void end_waiting(fuse_req_t request, void* turns) {
  if (static_cast<Turns*>(turns)->leave(request)) fuse_reply_err(request, EINTR);
}

/// Of what is gone nobody but `user` waits for a lock.
uid_t owner_of(Source& source, NodeId node, uid_t user) {
  try {
    return source.owner(node);
  } catch (const std::system_error&) {
    return user;
  }
}

}  // namespace

bool wait_for_turn(fuse_req_t request, NodeId node, std::function<void()> work,
                   AtSessionEnd at_end) noexcept {
  MountState& state = mount_state(request);
  const uid_t user = fuse_req_ctx(request)->uid;
  try {
    const auto serve = [request, session = state.session, work = std::move(work), at_end] {
      if (at_end == AtSessionEnd::refuse && fuse_session_exited(session) != 0)
        fuse_reply_err(request, ENOTCONN);
      else
        work();
    };
    Turns::Waiting waiting{request, RequestWatch::carried(frame::WaitReason::turn, serve)};
    // Before somebody else may have answered the request.
    fuse_req_interrupt_func(request, end_waiting, state.turns);
    const auto is_over = [request] { return fuse_req_interrupted(request) != 0; };
    const uid_t owner = owner_of(state.mount->source(), node, user);
    switch (state.turns->begin_or_wait(user, owner, waiting, is_over)) {
      case Turns::Answer::waits:
        return false;
      case Turns::Answer::is_over:
        fuse_reply_err(request, EINTR);
        return false;
      case Turns::Answer::has_begun:
        waiting.work();
    }
    return true;
  } catch (const std::exception& error) {
    fuse_reply_err(request, errno_of(error, "turn"));
    return false;
  }
}

void end_turn(Turns& turns, uid_t user) noexcept {
  while (const auto next = turns.end(user)) {
    next->work();
    user = next->user;
  }
}

}  // namespace bloscfs::fs
