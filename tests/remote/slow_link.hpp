#pragma once
// A way to a server of the loopback that takes time, and is only so wide.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>

#include "tests/support/fd.hpp"

namespace bloscfs::test {

/// Takes connections on a port of its own, and makes each one to the server's. What comes from
/// either side arrives a half of `delay` later; all connections share the width, which requests and
/// answers have each for themselves.
class SlowLink {
 public:
  /// `bytes_per_second` 0: any number.
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
    std::atomic<int> ended{0};  ///< of the two directions
  };

  void accept_all();
  void end_finished();
  void carry(Connection& connection, bool is_answer);
  /// When the link has taken so many bytes more.
  Clock::time_point take_turn(std::size_t size, bool is_answer);

  const int server_port_;
  const Clock::duration delay_;
  const std::uint64_t bytes_per_second_;
  Fd listener_;
  int port_ = 0;
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  Clock::time_point answers_free_at_, requests_free_at_;
  std::list<Connection> connections_;  ///< of the acceptor, while it runs
  std::thread acceptor_;
};

}  // namespace bloscfs::test
