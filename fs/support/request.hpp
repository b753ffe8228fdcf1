#pragma once
// A Request says for whom a piece of work is done, and what the work may do. Functions that may
// wait, take long, or charge a user get one.
//
// A request takes a slot before it begins long work. There are more request threads than slots, so
// a thread is always free for quick requests. If no slot is free, need_slot() throws NoSlot.
// serve() in fs/fuse then keeps the request until a slot is free, and serves it again from its
// beginning. So a function that takes a Request& may only read and fill caches. A function that
// changes SOURCE, a content, or a table of the mount takes a Change&. After a request has made its
// Change, it is never served again.

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <system_error>

#include <sys/types.h>

#include "frame/store/wait_context.hpp"
#include "fs/support/caller.hpp"
#include "fs/support/request_slots.hpp"

namespace bloscfs::fs {

/// Thrown if a request needs a slot while none is free. Not a std::exception, since it is no
/// failure: nothing was done, and the request is served later.
struct NoSlot {};

/// EINTR or EFBIG. The file is fine: other requests that waited for this one's result make it
/// themselves.
class RequestEnded : public std::system_error {
 public:
  using std::system_error::system_error;
};

/// True if the sender of the request has given up (EINTR).
bool is_interruption(const std::exception& error);

/// Belongs to one thread, on whose stack it lives.
class Request {
 public:
  /// The most processor time that one request may use.
  static constexpr std::chrono::milliseconds kMostProcessorTime{2000};
  /// The interval at which waiting threads call check(). A user who interrupts does not notice this
  /// delay.
  static constexpr std::chrono::milliseconds kCheckInterval = frame::Interruption::kCheckInterval;

  /// Work of the daemon itself, such as a sweep, or of a command. It needs no slot.
  Request() = default;
  /// The daemon's work on the written data of `user`, such as a commit.
  explicit Request(uid_t user) : user_(user) {}
  /// A process's request that needs no slot.
  explicit Request(const Caller& caller) : Request(nullptr, caller) {}
  /// A process's request. The slots outlive it.
  Request(RequestSlots* slots, const Caller& caller);
  virtual ~Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// To be called before long work, and before a wait for others: for the network, the flush of a
  /// disk, another program, or another request's long work. Throws NoSlot if no slot is free. After
  /// the request has made its Change, returns without a slot. So if the work after the Change may
  /// wait, call this before the Change. The frame module calls this through frame::BeforeLocks
  /// before it waits for another program's lock.
  void need_slot();
  bool has_slot() const { return has_slot_; }

  /// Whether the request waits for data behind a network, or ends before such a wait.
  enum class NetworkWait : std::uint8_t { allowed, refused };
  /// Makes check() ask `is_interrupted`, and limit the thread's processor time from the first check
  /// on. With Far::refused, a wait for the network throws before it begins.
  void limit(std::function<bool()> is_interrupted,
             std::chrono::milliseconds most = kMostProcessorTime,
             NetworkWait far = NetworkWait::allowed);
  /// Throws RequestEnded if the request was interrupted, or has used too much processor time. To be
  /// called before each step of long work. The frame module calls this through frame::Interruption.
  void check();

  /// The user who is charged for the work; nullopt if no user asked for it.
  std::optional<uid_t> user() const { return user_; }
  /// The user whose shares are charged: root if no user asked for the work.
  uid_t payer() const { return user_.value_or(0); }
  /// The caller whose rights apply to changes of SOURCE; null: the daemon's own rights.
  const Caller* caller() const { return caller_ ? &*caller_ : nullptr; }

 protected:
  /// Returns false if no slot is free.
  virtual bool take_slot();
  /// To be called when the caller has its answer: nothing interrupts the rest of the work.
  void drop_limits() {
    interruption_.reset();
    limits_.reset();
  }

 private:
  friend class Change;
  struct Limits {
    std::function<bool()> is_interrupted;
    std::chrono::milliseconds most;
    std::chrono::nanoseconds began{0};  ///< on the thread's processor clock; 0: no check yet
  };

  RequestSlots* const slots_ = nullptr;
  const std::optional<uid_t> user_;
  const std::optional<Caller> caller_;
  bool has_slot_ = false;
  bool runs_once_ = false;  ///< has made its Change
  std::optional<Limits> limits_;
  std::optional<frame::Interruption> interruption_;
  std::optional<frame::BeforeLocks> before_locks_;
};

/// A request from its first change on. Each operation makes it in one place, after all calls that
/// may throw NoSlot.
class Change {
 public:
  explicit Change(Request& request) : Change(request, request.caller()) {}
  /// A change that the daemon makes on its own account while it serves a request.
  static Change by_daemon(Request& request) { return {request, nullptr}; }

  // NOLINTNEXTLINE(google-explicit-constructor): a function with a Change may call those that take
  // a Request.
  operator Request&() const { return request_; }
  Request& request() const { return request_; }
  /// The caller whose rights apply to changes of SOURCE; null: the daemon's own rights.
  const Caller* caller() const { return caller_; }

 private:
  Change(Request& request, const Caller* caller) : request_(request), caller_(caller) {
    request.runs_once_ = true;
  }

  Request& request_;
  const Caller* caller_;
};

}  // namespace bloscfs::fs
