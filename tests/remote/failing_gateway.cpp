#include "tests/remote/failing_gateway.hpp"

#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace bloscfs::test {
namespace {

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

/// Takes one of what is left of a count.
bool take(std::atomic<int>& count) {
  int left = count;
  while (left > 0)
    if (count.compare_exchange_weak(left, left - 1)) return true;
  return false;
}

}  // namespace

FailingGateway::FailingGateway(int server_port)
    : server_port_(server_port),
      server_([this](const HttpRequest& request) { return answer(request); }) {}

/// One connection for each request, so that the answer's end is that of the connection.
std::string FailingGateway::forward(const HttpRequest& request) const {
  std::string bytes = request.head;
  bytes.insert(bytes.find("\r\n") + 2, "Connection: close\r\n");
  bytes += request.body;
  const Fd fd = connected(server_port_);
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

HttpReply FailingGateway::answer(const HttpRequest& request) {
  if (is_down) return {"", {}, true};
  if (take(busy)) return {reply_of("503 Slow Down", "", ""), {}, false};
  std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
  const std::string line = request.head.substr(0, request.head.find("\r\n"));
  const std::string answer = forward(request);
  const bool puts = line.starts_with("PUT ");
  const bool is_index = line.find("/chunks.b2frame") != std::string::npos;
  const bool is_chunk = line.find(".chunk ") != std::string::npos;
  if (puts && ((is_index && take(lost_answers)) || (is_chunk && take(lost_chunk_answers))))
    return {"", {}, true};
  return {answer, {}, true};
}

}  // namespace bloscfs::test
