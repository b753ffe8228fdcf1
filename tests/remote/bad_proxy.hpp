#pragma once
// A proxy in front of a server. At random it does what failing networks, busy servers and faulty
// servers do, as far as a client can notice it.

#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "tests/remote/scripted_server.hpp"

namespace bloscfs::test {

/// What the proxy may do with a request. "Not done" means that it does not pass the request on.
enum class Fault : std::uint8_t {
  none,
  slow,              ///< answered late
  cut,               ///< the answer is truncated at a random byte
  dropped,           ///< not done, and the connection is closed
  unanswered,        ///< done, and the connection is closed without an answer
  busy,              ///< not done: 500, 503 or 429, with or without Retry-After
  done_but_busy,     ///< done, but answered as `busy`
  other_range,       ///< Content-Range names another range
  no_range,          ///< a request for a range gets the whole object with 200
  short_range,       ///< a shorter range, with a correct Content-Range
  unconditional,     ///< conditions of a GET are not passed on
  refused,           ///< a conditional PUT is not done, and gets 412
  done_but_refused,  ///< a conditional PUT is done, but gets 412
};
inline constexpr std::size_t kFaults = static_cast<std::size_t>(Fault::done_but_refused) + 1;

/// The seed and the number of a request decide its fault.
class BadProxy {
 public:
  /// Stands in front of the server on that port of the loopback. `host` is the address of this
  /// machine on which the proxy listens. It makes no faults until be_bad().
  BadProxy(int server_port, std::uint64_t seed, const std::string& host = "127.0.0.1");

  std::string address(const std::string& path) const { return server_.address(path); }
  int requests() const { return server_.requests(); }
  /// Makes the proxy draw a fault for `percent` of the requests.
  void be_bad(int percent) { percent_ = percent; }
  void be_good() { percent_ = 0; }
  /// Returns how often each fault was made, as text.
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
