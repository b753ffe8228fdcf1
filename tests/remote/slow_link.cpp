#include "tests/remote/slow_link.hpp"

#include <condition_variable>
#include <deque>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/pause.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {
namespace {

constexpr std::size_t kPiece = 64 << 10;
/// Bytes that may be under way in one direction of a connection.
constexpr std::size_t kMostOnTheWay = 16 << 20;
/// How late a sender may be without losing bandwidth. Threads wake up later than they ask for.
constexpr std::chrono::milliseconds kLateness{2};

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

void set_no_delay(int fd) {
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/// The bytes under way in one direction of a connection.
struct OnTheWay {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<std::chrono::steady_clock::time_point, std::vector<char>>> pieces;
  std::size_t size = 0;
  bool ended = false;
};

/// Sends the bytes on to `to` when they are due. If `to` is closed, shuts down `from`, so that its
/// program notices.
void deliver(OnTheWay& way, int from, int to) {
  for (;;) {
    std::unique_lock lock(way.mutex);
    way.changed.wait(lock, [&] { return way.ended || !way.pieces.empty(); });
    if (way.pieces.empty()) break;
    auto [due, bytes] = std::move(way.pieces.front());
    way.pieces.pop_front();
    way.size -= bytes.size();
    lock.unlock();
    way.changed.notify_all();
    simulate_delay_until(due);
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t sent = ::send(to, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      if (sent <= 0) {
        ::shutdown(from, SHUT_RDWR);
        break;
      }
      done += static_cast<std::size_t>(sent);
    }
  }
  ::shutdown(to, SHUT_WR);
}

}  // namespace

SlowLink::SlowLink(int server_port, std::chrono::milliseconds delay, std::uint64_t bytes_per_second)
    : server_port_(server_port), delay_(delay / 2), bytes_per_second_(bytes_per_second) {
  listener_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (!listener_ || ::bind(listener_.get(), any, size) != 0 ||
      ::getsockname(listener_.get(), any, &size) != 0 || ::listen(listener_.get(), 64) != 0)
    throw_errno("listen");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

SlowLink::~SlowLink() {
  ending_ = true;
  acceptor_.join();
  for (Connection& connection : connections_) {
    for (const Fd* socket : {&connection.client, &connection.server})
      ::shutdown(socket->get(), SHUT_RDWR);
    connection.requests.join();
    connection.answers.join();
  }
}

void SlowLink::end_finished() {
  for (auto at = connections_.begin(); at != connections_.end();) {
    if (at->ended < 2) {
      ++at;
      continue;
    }
    at->requests.join();
    at->answers.join();
    at = connections_.erase(at);
  }
}

void SlowLink::accept_all() {
  while (!ending_) {
    pollfd waiting{listener_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 20) != 1) continue;
    end_finished();
    Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(server_port_);
    if (!client || !server ||
        ::connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      continue;
    set_no_delay(client.get());
    set_no_delay(server.get());
    Connection& connection = connections_.emplace_back();
    connection.client = std::move(client);
    connection.server = std::move(server);
    connection.requests = std::thread([&] { carry(connection, false); });
    connection.answers = std::thread([&] { carry(connection, true); });
  }
}

SlowLink::Clock::time_point SlowLink::take_turn(std::size_t size, bool is_answer) {
  const std::lock_guard guard(mutex_);
  Clock::time_point& free_at = is_answer ? answers_free_at_ : requests_free_at_;
  free_at = std::max(free_at, Clock::now() - kLateness);
  if (bytes_per_second_ > 0)
    free_at += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
        static_cast<double>(size) / static_cast<double>(bytes_per_second_)));
  return free_at;
}

void SlowLink::carry(Connection& connection, bool is_answer) {
  int from = connection.client.get(), to = connection.server.get();
  if (is_answer) std::swap(from, to);
  OnTheWay way;
  std::thread delivery([&] { deliver(way, from, to); });
  for (;;) {
    std::vector<char> bytes(kPiece);
    const ssize_t got = ::recv(from, bytes.data(), bytes.size(), 0);
    if (got <= 0) break;
    bytes.resize(static_cast<std::size_t>(got));
    const auto through = take_turn(bytes.size(), is_answer);
    // Reads no further until the link has taken these bytes, which slows down the sender.
    simulate_delay_until(through);
    std::unique_lock lock(way.mutex);
    way.changed.wait(lock, [&] { return way.size < kMostOnTheWay; });
    way.size += bytes.size();
    way.pieces.emplace_back(std::max(through, Clock::now()) + delay_, std::move(bytes));
    way.changed.notify_all();
  }
  {
    const std::lock_guard guard(way.mutex);
    way.ended = true;
  }
  way.changed.notify_all();
  delivery.join();
  connection.ended++;
}

}  // namespace bloscfs::test
