#pragma once
// Serves requests of the kernel. Each operation has a function for this, its body. A body ends by
// sending the reply, or by passing the request on with later().

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include <fuse_lowlevel.h>

#include "fs/fuse/reply.hpp"
#include "fs/mount/idle_watch.hpp"
#include "fs/support/caller.hpp"
#include "fs/support/request.hpp"
#include "fs/support/request_watch.hpp"

namespace bloscfs::fs {

/// True if the reply is no longer wanted: the request was interrupted, or the session has ended. A
/// network may delay a request for longer than the session lasts.
bool is_given_up(fuse_req_t request);

/// A request of the kernel, on the thread that serves it. It is listed and timed until its end.
class KernelRequest final : public Request {
 public:
  enum class Slot : std::uint8_t {
    when_needed,
    not_taken,  ///< the request already has a slot, or must do without
  };
  KernelRequest(fuse_req_t request, RequestWatch::Entry entry, Slot slot);
  ~KernelRequest() override;
  KernelRequest(const KernelRequest&) = delete;
  KernelRequest& operator=(const KernelRequest&) = delete;

  // NOLINTNEXTLINE(google-explicit-constructor): passed to libfuse as a fuse_req_t.
  operator fuse_req_t() const { return request_; }

  /// Makes check() end the request once is_given_up(), or after `most` of processor time.
  void limit(std::chrono::milliseconds most = kMostProcessorTime);
  /// Calls limit() if one of the nodes is behind a network or in a store. A store's own contents
  /// determine how many leaves a listing opens, and how much work it is to show a leaf as a file.
  void limit_if_far(NodeId node, NodeId other);
  void limit_if_far(NodeId node) { limit_if_far(node, node); }

  void add_bytes(std::size_t count) { entry_.add_bytes(count); }
  /// Returns the entry for later(), which serves the request further. This object must not be used
  /// for the request any more.
  RequestWatch::Entry hand_over();

 private:
  const fuse_req_t request_;
  RequestWatch::Entry entry_;
};

/// The fate of a request that still waits for a slot when the session ends.
enum class AtSessionEnd : std::uint8_t {
  refuse,  ///< replies ENOTCONN, like the kernel to a request that was not read
  serve,
};

/// Counts a request that could not read SOURCE. Reads of contents count themselves.
void count_failure(fuse_req_t request, Operation operation, int error);

/// Runs the body, and replies with the errno if it throws an exception. NoSlot passes through to
/// the caller.
template <typename Body>
void run_body(KernelRequest& request, Operation operation, const Body& body) {
  try {
    body(request);
  } catch (const std::exception& error) {
    const int number = errno_of(error, name_of(operation), request);
    count_failure(request, operation, number);
    fuse_reply_err(request, number);
  }
}

inline void note_use(MountState& state) {
  if (state.idle_watch != nullptr) state.idle_watch->note_use();
}

/// Returns a function that serves the request further by `body`, on any thread and without a slot.
/// Until it is called, the request is listed as waiting for `reason`.
template <typename Body>
std::function<void()> later(fuse_req_t request, RequestWatch::Entry entry, frame::WaitReason reason,
                            Operation operation, Body body) {
  const auto kept = std::make_shared<RequestWatch::Entry>(std::move(entry));
  if (frame::WaitState* const waits = kept->waits()) waits->begin(reason);
  return [=] {
    if (frame::WaitState* const waits = kept->waits()) waits->reason = frame::WaitReason::nothing;
    MountState& state = mount_state(request);
    {
      KernelRequest again(request, std::move(*kept), KernelRequest::Slot::not_taken);
      run_body(again, operation, body);
    }
    note_use(state);
  };
}

/// Calls `work`, which serves a request for `node`, once the request's user has a slot. If there is
/// one now, calls it at once. Does not block. A request that is interrupted while it waits gets
/// EINTR. Returns true if this thread now has a slot of the user.
bool serve_with_slot(fuse_req_t request, NodeId node, std::function<void()> work,
                     AtSessionEnd at_end) noexcept;

/// Gives back this thread's slot, and serves the requests that wait for it.
void give_back_slot(RequestSlots& slots, uid_t user) noexcept;

/// Serves a request for `node`. If the body throws NoSlot, calls `keep` and then, once the user has
/// a slot, the function that `keep` has returned. Another thread may make that call.
template <typename Body, typename Keep>
void serve_when_slot_free(fuse_req_t request, NodeId node, Operation operation, const Body& body,
                          const Keep& keep, AtSessionEnd at_end = AtSessionEnd::refuse) noexcept {
  const fuse_ctx* const sender = fuse_req_ctx(request);
  const uid_t user = sender->uid;
  MountState& state = mount_state(request);
  note_use(state);
  bool has_slot = false;
  std::function<void()> again;
  {
    KernelRequest served(request, {state.watch, operation, node, {user, sender->pid}},
                         KernelRequest::Slot::when_needed);
    try {
      run_body(served, operation, body);
    } catch (const NoSlot&) {
      again = later(request, served.hand_over(), frame::WaitReason::slot, operation, keep());
    }
    has_slot = served.has_slot();
  }
  if (again) has_slot = serve_with_slot(request, node, std::move(again), at_end);
  if (has_slot) give_back_slot(*state.slots, user);
  note_use(state);
}

/// Like serve_when_slot_free(), for a body that owns all that it needs. If the body throws NoSlot,
/// a copy of it is called once the user has a slot.
template <typename Body>
void serve(fuse_req_t request, NodeId node, Operation operation, const Body& body,
           AtSessionEnd at_end = AtSessionEnd::refuse) noexcept {
  serve_when_slot_free(
      request, node, operation, body, [&] { return body; }, at_end);
}

/// Runs work that needs no reply, such as undoing an open whose reply could not be delivered. The
/// kernel's request is gone by then.
template <typename Work>
void run_unanswered(const char* operation, const Work& work) noexcept {
  Request request;
  try {
    work(request);
  } catch (const std::exception& error) {
    errno_of(error, operation, request);
  }
}

}  // namespace bloscfs::fs
