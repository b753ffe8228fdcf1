#pragma once
// A link to a server of the loopback, with a delay and a limited bandwidth.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>

#include "tests/support/fd.hpp"

namespace bloscfs::test {

/// Accepts connections on its own port, and forwards each to the server's port. Bytes of both
/// directions arrive half of `delay` later. All connections share the bandwidth; requests and
/// answers have the full bandwidth each.
class SlowLink {
 public:
  /// `bytes_per_second` 0 means an unlimited bandwidth.
  SlowLink(int server_port, std::chrono::milliseconds delay, std::uint64_t bytes_per_second);
  ~SlowLink();
  SlowLink(const SlowLink&) = delete;
  SlowLink& operator=(const SlowLink&) = delete;

  int port() const { return port_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Connection {
    Fd client, server;
    std::thread requests, answers;
    std::atomic<int> ended{0};  ///< how many of the two directions have ended
  };

  void accept_all();
  void end_finished();
  void carry(Connection& connection, bool is_answer);
  /// Reserves the link for `size` more bytes. Returns the time at which it has taken them.
  Clock::time_point take_turn(std::size_t size, bool is_answer);

  const int server_port_;
  const Clock::duration delay_;
  const std::uint64_t bytes_per_second_;
  Fd listener_;
  int port_ = 0;
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  Clock::time_point answers_free_at_, requests_free_at_;
  std::list<Connection> connections_;  ///< only the acceptor uses it while it runs
  std::thread acceptor_;
};

}  // namespace bloscfs::test
