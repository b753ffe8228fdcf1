#pragma once
// The doors for requests of the kernel. Each request is served by a body, whose last act is its
// reply, or that it hands the request on by later().

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

/// Whether nobody waits for the answer any more. A network may keep it for longer than the mount.
bool is_given_up(fuse_req_t request);

/// A request of the kernel on the thread that serves it. It is listed, and timed, until it ends.
class KernelRequest final : public Request {
 public:
  enum class Slot : std::uint8_t {
    when_needed,
    not_asked_for,  ///< it has one already, or must do without
  };
  KernelRequest(fuse_req_t request, RequestWatch::Entry entry, Slot slot);
  ~KernelRequest() override;
  KernelRequest(const KernelRequest&) = delete;
  KernelRequest& operator=(const KernelRequest&) = delete;

  // NOLINTNEXTLINE(google-explicit-constructor): it stands for it wherever libfuse is called.
  operator fuse_req_t() const { return request_; }

  /// As Request::limit(), for who gives up.
  void limit(std::chrono::milliseconds most = kMostProcessorTime);
  /// The same where one of the nodes is behind a network or in a store: there a file decides how
  /// many leaves a listing opens, and how long one is that becomes a file.
  void limit_if_far(NodeId node, NodeId other);
  void limit_if_far(NodeId node) { limit_if_far(node, node); }

  void add_bytes(std::size_t count) { entry_.add_bytes(count); }
  /// It goes on elsewhere: this one has nothing left to do.
  RequestWatch::Entry hand_over();

 private:
  const fuse_req_t request_;
  RequestWatch::Entry entry_;
};

/// What happens to a request that still waits for a slot when the session ends.
enum class AtSessionEnd : std::uint8_t {
  refuse,  ///< ENOTCONN, like the kernel's answer to a request that nobody has read
  serve,
};

/// Runs the body; a failure is replied instead. NoSlot is the caller's.
template <typename Body>
void run_body(KernelRequest& request, Operation operation, const Body& body) {
  try {
    body(request);
  } catch (const std::exception& error) {
    fuse_reply_err(request, errno_of(error, name_of(operation), request));
  }
}

inline void note_use(MountState& state) {
  if (state.idle_watch != nullptr) state.idle_watch->note_use();
}

/// A function that serves the request further, by `body`, on any thread; it takes no slot. Until it
/// is called the request waits for `reason`.
template <typename Body>
std::function<void()> later(fuse_req_t request, RequestWatch::Entry entry, frame::WaitReason reason,
                            Operation operation, Body body) {
  const auto kept = std::make_shared<RequestWatch::Entry>(std::move(entry));
  if (frame::WaitState* const waits = kept->waits()) waits->begin(reason);
  return [=] {
    if (frame::WaitState* const waits = kept->waits()) waits->reason = frame::WaitReason::nothing;
    MountState& state = mount_state(request);
    {
      KernelRequest again(request, std::move(*kept), KernelRequest::Slot::not_asked_for);
      run_body(again, operation, body);
    }
    note_use(state);
  };
}

/// Has `work` called, which serves a request for `node`, when the request's user has a slot: at
/// once where there is one by now. Waits for nothing. A request that is interrupted until then is
/// answered EINTR. True if this thread has a slot of the user now.
bool serve_with_slot(fuse_req_t request, NodeId node, std::function<void()> work,
                     AtSessionEnd at_end) noexcept;

/// Gives back the slot of this thread, and serves those that wait for it.
void give_back_slot(RequestSlots& slots, uid_t user) noexcept;

/// Serves a request for `node`. Where the body needs a slot and there is none, what `keep` returns
/// is called in its place later, perhaps by another thread.
template <typename Body, typename Keep>
void serve_kept(fuse_req_t request, NodeId node, Operation operation, const Body& body,
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
      again = later(request, served.hand_over(), frame::WaitReason::turn, operation, keep());
    }
    has_slot = served.has_slot();
  }
  if (again) has_slot = serve_with_slot(request, node, std::move(again), at_end);
  if (has_slot) give_back_slot(*state.slots, user);
  note_use(state);
}

/// The same with a body of which a copy knows all it needs: that is called once more.
template <typename Body>
void serve(fuse_req_t request, NodeId node, Operation operation, const Body& body,
           AtSessionEnd at_end = AtSessionEnd::refuse) noexcept {
  serve_kept(
      request, node, operation, body, [&] { return body; }, at_end);
}

/// Runs what nobody waits for, such as what a reply calls for that was not delivered: its request
/// is gone by then.
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
