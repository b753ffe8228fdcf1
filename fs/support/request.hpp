#pragma once
// What a piece of work is for, and what it may do. It is passed to whatever may wait, take long, or
// count what it costs to somebody.
//
// Until a request makes its Change it may be served once more, from its beginning: where it needs a
// slot and all are taken, need_slot() throws NoSlot, and the door of fs/fuse keeps the request
// until there is one. So what takes a Request& only looks, and fills caches. What changes SOURCE,
// a content, or a table of the mount takes a Change&, which nothing serves again.

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <system_error>

#include <sys/types.h>

#include "fs/support/request_limits.hpp"
#include "fs/support/request_user.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {

struct Caller;

/// For one thread at a time.
class Request {
 public:
  /// Work that nobody waits for: a commit, a sweep, a command. It has no slot and no limits, and
  /// changes SOURCE as the daemon.
  Request() = default;
  /// A request of a process, which outlives this.
  explicit Request(const Caller& caller) : caller_(&caller) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// To be called before whatever takes long, or waits for what others do: a network, a disk that
  /// flushes, another program, another request's long work. Takes a slot unless the request has
  /// one, needs none, or has begun to change something. Throws NoTurn.
  void need_slot() { TurnAtNeed::need(); }
  /// Throws RequestEnded where the request is interrupted, or has used the processor for too long.
  /// To be called before each step of long work.
  void check() { RequestLimits::check(); }
  /// Whose account it is on; nullopt for what nobody has asked for.
  std::optional<uid_t> user() const { return RequestUser::current(); }
  /// As whom SOURCE is changed; null: as the daemon.
  const Caller* caller() const { return caller_; }

 private:
  friend class Change;
  const Caller* const caller_ = nullptr;
};

/// For callers that are not passed one yet.
inline Request& unconverted_request() {
  static Request request;
  return request;
}

/// A request from its first change on: it is not served again, and goes on without a slot where it
/// has none. Made in one place of each operation, after everything that may throw NoTurn.
class Change {
 public:
  explicit Change(Request& request) : request_(request), caller_(request.caller()) {
    TurnAtNeed::need_no_more();
  }
  /// What the daemon does by itself while it serves a request.
  static Change by_daemon(Request& request) { return {request, nullptr}; }

  // NOLINTNEXTLINE(google-explicit-constructor): whoever changes may look.
  operator Request&() const { return request_; }
  Request& request() const { return request_; }
  /// As whom SOURCE is changed; null: as the daemon.
  const Caller* caller() const { return caller_; }

 private:
  Change(Request& request, const Caller* caller) : request_(request), caller_(caller) {
    TurnAtNeed::need_no_more();
  }

  Request& request_;
  const Caller* caller_;
};

}  // namespace bloscfs::fs
