#pragma once
// Stands in front of a server, and does by chance all that networks, busy servers and wrong ones
// do, of what a client can notice.

#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "tests/remote/scripted_server.hpp"

namespace bloscfs::test {

/// What may be done with a request.
enum class Fault : std::uint8_t {
  none,
  slow,              ///< answered late
  cut,               ///< the answer ends somewhere
  dropped,           ///< not done, and the connection closed
  unanswered,        ///< done, and the connection closed
  busy,              ///< not done: 500, 503 or 429, with or without Retry-After
  done_but_busy,     ///< the same, and done
  other_range,       ///< Content-Range says another one
  no_range,          ///< the whole with 200 where a range was asked for
  short_range,       ///< a smaller range, said rightly
  unconditional,     ///< conditions of a GET are not passed on
  refused,           ///< not done: 412 to a conditional PUT
  done_but_refused,  ///< the same, and done
};
inline constexpr std::size_t kFaults = static_cast<std::size_t>(Fault::done_but_refused) + 1;

/// The fault of a request is drawn from the seed and the request's number.
class BadProxy {
 public:
  /// In front of a server on that port of the loopback. Answers rightly until it is told otherwise,
  /// at an address of this machine.
  BadProxy(int server_port, std::uint64_t seed, const std::string& host = "127.0.0.1");

  std::string address(const std::string& path) const { return server_.address(path); }
  int requests() const { return server_.requests(); }
  /// Requests of `percent` in a hundred get a fault.
  void be_bad(int percent) { percent_ = percent; }
  void be_good() { percent_ = 0; }
  /// How often each fault was done, in words.
  std::string counts() const;
  int count(Fault fault) const { return counts_[static_cast<std::size_t>(fault)]; }

 private:
  HttpReply answer(const HttpRequest& request);

  const int server_port_;
  const std::uint64_t seed_;
  std::atomic<int> percent_{0};
  std::array<std::atomic<int>, kFaults> counts_{};
  ScriptedServer server_;
};

}  // namespace bloscfs::test
