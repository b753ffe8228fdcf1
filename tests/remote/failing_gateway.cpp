#include "tests/remote/failing_gateway.hpp"

#include <thread>

#include "tests/support/pause.hpp"

namespace bloscfs::test {
namespace {

/// Decrements `count`. False if it is 0 already.
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

HttpReply FailingGateway::answer(const HttpRequest& request) {
  if (is_down) return {"", {}, true};
  if (take(busy)) return {reply_of("503 Slow Down", "", ""), {}, false};
  simulate_delay(std::chrono::milliseconds(delay_ms));
  const std::string line = request.head.substr(0, request.head.find("\r\n"));
  const bool puts = line.starts_with("PUT ");
  const bool is_index = line.find("/chunks.b2frame") != std::string::npos;
  const bool is_chunk = line.find(".chunk ") != std::string::npos;
  if (hides_chunks && is_chunk && line.starts_with("GET "))
    return {reply_of("503 Slow Down", "", ""), {}, false};
  if (takes_nothing && puts) return {reply_of("503 Slow Down", "", ""), {}, false};
  const std::string answer = answer_from(server_port_, request);
  if (line.find("?delete") != std::string::npos && take(busy_removals))
    return {reply_of("503 Slow Down", "Retry-After: 1\r\n", "<Error><Code>SlowDown</Code></Error>"),
            {},
            false};
  if (puts && is_index && ends_with_index.exchange(false)) is_down = true;
  if (is_down) return {"", {}, true};
  if (puts && ((is_index && take(lost_answers)) || (is_chunk && take(lost_chunk_answers))))
    return {"", {}, true};
  return {answer, {}, true};
}

}  // namespace bloscfs::test
