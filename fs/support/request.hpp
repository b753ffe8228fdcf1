#pragma once
// What a piece of work is for, and what it may do. It is passed to whatever may wait, take long, or
// count what it costs to somebody.
//
// A request takes a slot where it begins to take long; the threads that serve requests are more
// than the slots, so that there is always one for what is quick. Where none is free, need_slot()
// throws NoSlot: the door of fs/fuse then keeps the request until there is one, and serves it once
// more from its beginning. So what takes a Request& only looks, and fills caches. What changes
// SOURCE, a content, or a table of the mount takes a Change&: a request that has made its Change is
// never served again.

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

/// Thrown through a request that needs a slot while none is free. No std::exception, for it is no
/// failure: nothing was done, and the request is served later.
struct NoSlot {};

/// EINTR or EFBIG. Says nothing of the file: whoever waits for what was being made makes it.
class RequestEnded : public std::system_error {
 public:
  using std::system_error::system_error;
};

/// True where its sender has given up.
bool is_interruption(const std::exception& error);

/// For one thread, on whose stack it lives.
class Request {
 public:
  /// What one request may use of the processor.
  static constexpr std::chrono::milliseconds kMostProcessorTime{2000};
  /// How often who waits for others calls check(): a user who interrupts does not feel it.
  static constexpr std::chrono::milliseconds kBetweenChecks = frame::Interruption::kBetweenChecks;

  /// Work of the daemon itself, such as a sweep; or of a command. It needs no slot.
  Request() = default;
  /// The daemon's work on what that user has written, such as a commit.
  explicit Request(uid_t user) : user_(user) {}
  /// A request of a process that needs no slot.
  explicit Request(const Caller& caller) : Request(nullptr, caller) {}
  /// A request of a process; the slots outlive it.
  Request(RequestSlots* slots, const Caller& caller);
  virtual ~Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// To be called before whatever takes long, or waits for what others do: a network, a flush of a
  /// disk, another program, the long work of another request. Throws NoSlot where no slot is free.
  /// Once the request has made its Change it returns without a slot: what may have to wait behind
  /// the Change takes the slot before it. The frame module calls it, by frame::BeforeLocks, before
  /// it waits for a lock of another program.
  void need_slot();
  bool has_slot() const { return has_slot_; }

  enum class Far : std::uint8_t { is_waited_for, ends_it };
  /// Has check() ask `is_interrupted`, and bound the time of the thread's processor from the first
  /// check on. Where what is far away ends it, waits for the network throw instead of beginning.
  void limit(std::function<bool()> is_interrupted,
             std::chrono::milliseconds most = kMostProcessorTime, Far far = Far::is_waited_for);
  /// Throws RequestEnded where the request is interrupted, or has used the processor for too long.
  /// To be called before each step of long work. The frame module asks the same by
  /// frame::Interruption.
  void check();

  /// On whose account it is; nullopt for what nobody has asked for.
  std::optional<uid_t> user() const { return user_; }
  /// The same for shares: what nobody has asked for counts as root's.
  uid_t payer() const { return user_.value_or(0); }
  /// As whom SOURCE is changed; null: as the daemon.
  const Caller* caller() const { return caller_ ? &*caller_ : nullptr; }

 protected:
  /// False if there is none to be had.
  virtual bool take_slot();
  /// Who asked is answered: nothing ends the rest.
  void limit_no_more() {
    interruption_.reset();
    limits_.reset();
  }

 private:
  friend class Change;
  struct Limits {
    std::function<bool()> is_interrupted;
    std::chrono::milliseconds most;
    std::chrono::nanoseconds began{0};  ///< by the thread's processor time
  };

  RequestSlots* const slots_ = nullptr;
  const std::optional<uid_t> user_;
  const std::optional<Caller> caller_;
  bool has_slot_ = false;
  bool runs_once_ = false;
  std::optional<Limits> limits_;
  std::optional<frame::Interruption> interruption_;
  std::optional<frame::BeforeLocks> before_locks_;
};

/// A request from its first change on. Made in one place of each operation, behind everything that
/// may throw NoSlot.
class Change {
 public:
  explicit Change(Request& request) : Change(request, request.caller()) {}
  /// What the daemon does by itself while it serves a request.
  static Change by_daemon(Request& request) { return {request, nullptr}; }

  // NOLINTNEXTLINE(google-explicit-constructor): whoever changes may look.
  operator Request&() const { return request_; }
  Request& request() const { return request_; }
  /// As whom SOURCE is changed; null: as the daemon.
  const Caller* caller() const { return caller_; }

 private:
  Change(Request& request, const Caller* caller) : request_(request), caller_(caller) {
    request.runs_once_ = true;
  }

  Request& request_;
  const Caller* caller_;
};

}  // namespace bloscfs::fs
