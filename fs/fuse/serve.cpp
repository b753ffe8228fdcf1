#include "fs/fuse/serve.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "fs/support/error_number.hpp"

namespace bloscfs::fs {
namespace {

/// The limit of processor time for a request that needs a network or a store.
constexpr std::chrono::seconds kMostOfFar{30};

Caller sender_of(fuse_req_t request) {
  const fuse_ctx* const context = fuse_req_ctx(request);
  return {context->uid, context->gid, context->umask, context->pid};
}

/// Called when a request that waits for a slot is interrupted. If the request was interrupted
/// before, libfuse calls this at once. leave() then finds nothing, as the request does not wait
/// yet.
void end_waiting(fuse_req_t request, void* slots) {
  if (static_cast<RequestSlots*>(slots)->leave(request)) fuse_reply_err(request, EINTR);
}

/// Returns the owner of the node's file; if the file no longer exists, the requesting `user`.
uid_t owner_of(Source& source, NodeId node, uid_t user) {
  try {
    return source.owner(node);
  } catch (const std::system_error&) {
    return user;
  }
}

}  // namespace

bool is_given_up(fuse_req_t request) {
  return fuse_req_interrupted(request) != 0 ||
         fuse_session_exited(mount_state(request).session) != 0;
}

KernelRequest::KernelRequest(fuse_req_t request, RequestWatch::Entry entry, Slot slot)
    : Request(slot == Slot::not_taken ? nullptr : mount_state(request).slots, sender_of(request)),
      request_(request),
      entry_(std::move(entry)) {
  frame::WaitMark::set_wait_state(entry_.waits());
}

KernelRequest::~KernelRequest() { frame::WaitMark::set_wait_state(nullptr); }

void KernelRequest::limit(std::chrono::milliseconds most) {
  Request::limit([this] { return is_given_up(request_); }, most);
}

void KernelRequest::limit_if_far(NodeId node, NodeId other) {
  Source& source = source_of(request_);
  if (source.is_over_network(node) || source.is_over_network(other)) limit(kMostOfFar);
}

RequestWatch::Entry KernelRequest::hand_over() {
  frame::WaitMark::set_wait_state(nullptr);
  drop_limits();
  return std::move(entry_);
}

void count_failure(fuse_req_t request, Operation operation, int error) {
  static constexpr std::array kReading{
      Operation::lookup,  Operation::getattr, Operation::readlink, Operation::open,
      Operation::opendir, Operation::readdir, Operation::getxattr, Operation::listxattr};
  const bool is_failure = error == EIO || error == ETIMEDOUT;  // the latter: a server is silent
  const bool reads = std::find(kReading.begin(), kReading.end(), operation) != kReading.end();
  if (is_failure && reads) mount_state(request).mount->stats().io_errors++;
}

bool serve_with_slot(fuse_req_t request, NodeId node, std::function<void()> work,
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
    RequestSlots::Waiting waiting{request, serve};
    // Must come before take_or_wait(), after which another thread may answer the request.
    fuse_req_interrupt_func(request, end_waiting, state.slots);
    const auto is_over = [request] { return fuse_req_interrupted(request) != 0; };
    const uid_t owner = owner_of(state.mount->source(), node, user);
    switch (state.slots->take_or_wait(user, owner, waiting, is_over)) {
      case RequestSlots::Answer::waits:
        return false;
      case RequestSlots::Answer::is_over:
        fuse_reply_err(request, EINTR);
        return false;
      case RequestSlots::Answer::taken:
        waiting.work();
    }
    return true;
  } catch (const std::exception& error) {
    fuse_reply_err(request, errno_of(error));
    return false;
  }
}

void give_back_slot(RequestSlots& slots, uid_t user) noexcept {
  while (const auto next = slots.give_back(user)) {
    next->work();
    user = next->user;
  }
}

}  // namespace bloscfs::fs
