#include "frame/store/wait_mark.hpp"

#include <utility>

namespace bloscfs::frame::inline store {
namespace {

thread_local WaitState* state_of_thread = nullptr;

}  // namespace

const char* name_of(WaitReason reason) {
  switch (reason) {
    case WaitReason::nothing:
      break;
    case WaitReason::turn:
      return "turn";
    case WaitReason::network:
      return "network";
    case WaitReason::other_program:
      return "other_program";
    case WaitReason::commit:
      return "commit";
    case WaitReason::room:
      return "room";
    case WaitReason::memory:
      return "memory";
    case WaitReason::other_request:
      return "other_request";
    case WaitReason::disk:
      return "disk";
    case WaitReason::kernel:
      return "kernel";
  }
  return "";
}

void WaitState::begin(WaitReason what) {
  since = std::chrono::steady_clock::now().time_since_epoch().count();
  reason = what;
}

WaitMark::WaitMark(WaitReason reason) {
  if (state_of_thread == nullptr) return;
  before_ = state_of_thread->reason;
  before_since_ = state_of_thread->since;
  state_of_thread->begin(reason);
}

WaitMark::~WaitMark() {
  if (state_of_thread == nullptr) return;
  state_of_thread->reason = before_;
  state_of_thread->since = before_since_;
}

WaitState* WaitMark::work_at(WaitState* work) { return std::exchange(state_of_thread, work); }

}  // namespace bloscfs::frame::inline store
