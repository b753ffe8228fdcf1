#include "tests/remote/scripted_server.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/pause.hpp"

namespace bloscfs::test {
namespace {

/// Returns a socket that is bound to a free port of `host`.
Fd bound_socket(const std::string& host, int& port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::inet_addr(host.c_str());
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (!fd || ::bind(fd.get(), any, size) != 0 || ::getsockname(fd.get(), any, &size) != 0)
    throw_errno("bind");
  port = ntohs(address.sin_port);
  return fd;
}

Fd connected(int port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (!fd || ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return {};
  return fd;
}

constexpr std::size_t kMaxHead = 64 << 10;

/// False if the client has closed the connection.
bool read_head(int connection, std::string& head) {
  head.clear();
  while (!head.ends_with("\r\n\r\n") && head.size() < kMaxHead) {
    char c = 0;
    if (::recv(connection, &c, 1, 0) != 1) return false;
    head += c;
  }
  return true;
}

bool read_body(int connection, HttpRequest& request) {
  request.body.assign(std::strtoul(request.value("Content-Length").c_str(), nullptr, 10), 0);
  const auto size = static_cast<ssize_t>(request.body.size());
  return size == 0 ||
         ::recv(connection, request.body.data(), request.body.size(), MSG_WAITALL) == size;
}

}  // namespace

std::string HttpRequest::value(const std::string& name) const {
  const std::size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

std::string access_key_of(const HttpRequest& request) {
  const std::string signature = request.value("Authorization"), before = "Credential=";
  const std::size_t at = signature.find(before);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + before.size();
  return signature.substr(begin, signature.find('/', begin) - begin);
}

ScriptedServer::ScriptedServer(Answer answer, bool remembers, const std::string& host)
    : answer_(std::move(answer)), remembers_(remembers), host_(host) {
  listener_ = bound_socket(host_, port_);
  if (::listen(listener_.get(), 64) != 0) throw_errno("listen");
  acceptor_ = std::thread([this] { accept_all(); });
}

ScriptedServer::~ScriptedServer() {
  ending_ = true;
  acceptor_.join();
  {
    const std::lock_guard guard(mutex_);
    for (const Connection& one : connections_) ::shutdown(one.fd.get(), SHUT_RDWR);
  }
  for (Connection& one : connections_) one.thread.join();
}

std::string ScriptedServer::address(const std::string& path) const {
  return "http://" + host_ + ":" + std::to_string(port_) + path;
}

std::vector<HttpRequest> ScriptedServer::seen() const {
  const std::lock_guard guard(mutex_);
  return seen_;
}

void ScriptedServer::accept_all() {
  while (!ending_) {
    pollfd waiting{listener_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 20) != 1) continue;
    Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) continue;
    drop_ended();
    const std::lock_guard guard(mutex_);
    Connection& one = connections_.emplace_back();
    one.fd = std::move(fd);
    one.thread = std::thread([this, &one] {
      serve(one.fd.get());
      ::shutdown(one.fd.get(), SHUT_RDWR);
      one.is_over = true;
    });
  }
}

void ScriptedServer::drop_ended() {
  const std::lock_guard guard(mutex_);
  connections_.remove_if([](Connection& one) {
    if (!one.is_over) return false;
    one.thread.join();
    return true;
  });
}

void ScriptedServer::serve(int connection) {
  HttpRequest request;
  while (read_head(connection, request.head) && read_body(connection, request)) {
    request.number = requests_++;
    std::sscanf(request.value("Range").c_str(), "bytes=%lu-%lu", &request.first, &request.last);
    if (remembers_) {
      const std::lock_guard guard(mutex_);
      seen_.push_back(request);
    }
    const HttpReply reply = answer_(request);
    send(connection, reply);
    if (reply.close) return;
  }
}

void ScriptedServer::send(int connection, const HttpReply& reply) const {
  const auto end = std::chrono::steady_clock::now() + reply.before;
  while (!ending_ && std::chrono::steady_clock::now() < end)
    simulate_delay(std::chrono::milliseconds(10));
  const std::size_t first_part =
      reply.head_first ? reply.bytes.find("\r\n\r\n") + 4 : reply.bytes.size();
  for (std::size_t done = 0; done < reply.bytes.size() && !ending_;) {
    const std::size_t end_of_part = done < first_part ? first_part : reply.bytes.size();
    const ssize_t sent =
        ::send(connection, reply.bytes.data() + done, end_of_part - done, MSG_NOSIGNAL);
    if (sent <= 0) return;
    done += static_cast<std::size_t>(sent);
  }
}

std::string reply_of(const std::string& status, const std::string& headers,
                     const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         headers + "\r\n" + body;
}

std::string range_of(const std::string& object, const HttpRequest& request,
                     const std::string& headers) {
  const std::uint64_t last = std::min<std::uint64_t>(request.last, object.size() - 1);
  const std::string range = "Content-Range: bytes " + std::to_string(request.first) + "-" +
                            std::to_string(last) + "/" + std::to_string(object.size()) + "\r\n";
  return reply_of("206 Partial Content", range + headers,
                  object.substr(request.first, last + 1 - request.first));
}

// Each request has a connection of its own, so that the answer ends where the connection ends.
std::string answer_from(int port, const HttpRequest& request) {
  std::string bytes = request.head;
  bytes.insert(bytes.find("\r\n") + 2, "Connection: close\r\n");
  bytes += request.body;
  const Fd fd = connected(port);
  for (std::size_t done = 0; fd && done < bytes.size();) {
    const ssize_t sent = ::send(fd.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) return {};
    done += static_cast<std::size_t>(sent);
  }
  std::string answer;
  char piece[65536];
  for (ssize_t got = 0; fd && (got = ::recv(fd.get(), piece, sizeof piece, 0)) > 0;)
    answer.append(piece, static_cast<std::size_t>(got));
  return answer;
}

int free_port() {
  int port = 0;
  bound_socket("127.0.0.1", port);
  return port;
}

}  // namespace bloscfs::test
