#include "tests/remote/bad_proxy.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include <fmt/core.h>

#include "tests/support/draw.hpp"

namespace bloscfs::test {
namespace {

const std::array<const char*, kFaults> kFaultNames{"none",
                                                   "slow",
                                                   "cut",
                                                   "dropped",
                                                   "unanswered",
                                                   "busy",
                                                   "done_but_busy",
                                                   "other_range",
                                                   "no_range",
                                                   "short_range",
                                                   "unconditional",
                                                   "refused",
                                                   "done_but_refused"};

const std::vector<std::string> kConditions{"If-Match", "If-None-Match", "If-Modified-Since",
                                           "If-Unmodified-Since"};

bool has_condition(const HttpRequest& request) {
  return std::any_of(kConditions.begin(), kConditions.end(),
                     [&](const std::string& name) { return !request.value(name).empty(); });
}

bool is(const HttpRequest& request, const char* method) { return request.head.starts_with(method); }

bool is_possible(Fault fault, const HttpRequest& request) {
  // A signed request cannot be altered.
  const bool is_free = request.value("Authorization").empty();
  const bool is_range = is(request, "GET ") && !request.value("Range").empty();
  switch (fault) {
    case Fault::other_range:
    case Fault::short_range:
      return is_range;
    case Fault::no_range:
      return is_range && is_free;
    case Fault::unconditional:
      return is(request, "GET ") && has_condition(request) && is_free;
    case Fault::refused:
    case Fault::done_but_refused:
      return is(request, "PUT ") && has_condition(request);
    default:
      return true;
  }
}

/// Removes a header line.
void drop(HttpRequest& request, const std::string& name) {
  const std::size_t at = request.head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return;
  request.head.erase(at, request.head.find("\r\n", at + 2) - at);
}

/// Returns the value of a header line in the head of an answer.
std::string value_in(const std::string& answer, const std::string& name) {
  const HttpRequest head{0, answer.substr(0, answer.find("\r\n\r\n") + 2), {}, 0, 0};
  return head.value(name);
}

void replace_value(std::string& answer, const std::string& name, const std::string& value) {
  const std::size_t at = answer.find("\r\n" + name + ": ");
  if (at == std::string::npos || at > answer.find("\r\n\r\n")) return;
  const std::size_t begin = at + name.size() + 4;
  answer.replace(begin, answer.find("\r\n", begin) - begin, value);
}

std::string busy_reply(Random& random) {
  const std::string status = pick<std::string>(
      random, {"500 Internal Server Error", "503 Slow Down", "429 Too Many Requests"});
  const std::string after =
      pick<std::string>(random, {"", "", "Retry-After: 0\r\n", "Retry-After: 1\r\n"});
  return reply_of(status, after, "<Error><Code>SlowDown</Code></Error>");
}

std::string refusal() {
  return reply_of("412 Precondition Failed", "", "<Error><Code>PreconditionFailed</Code></Error>");
}

/// The Content-Range of an answer, if it has one.
struct SaidRange {
  explicit SaidRange(const std::string& answer) {
    is_there = std::sscanf(value_in(answer, "Content-Range").c_str(), "bytes %lu-%lu/%lu", &first,
                           &last, &size) == 3;
  }
  bool is_there = false;
  std::uint64_t first = 0, last = 0, size = 0;
};

/// Changes Content-Range so that it begins one byte later than the body.
std::string with_other_range(std::string answer) {
  const SaidRange said(answer);
  if (said.is_there)
    replace_value(answer, "Content-Range",
                  fmt::format("bytes {}-{}/{}", said.first + 1, said.last + 1, said.size + 1));
  return answer;
}

/// Removes the end of the body, and corrects Content-Range and Content-Length.
std::string with_short_range(std::string answer, Random& random) {
  const SaidRange said(answer);
  if (!said.is_there || said.last == said.first) return answer;
  const auto length = static_cast<std::uint64_t>(
      between(random, 1, static_cast<std::int64_t>(said.last - said.first)));
  replace_value(answer, "Content-Range",
                fmt::format("bytes {}-{}/{}", said.first, said.first + length - 1, said.size));
  replace_value(answer, "Content-Length", std::to_string(length));
  answer.resize(std::min(answer.size(), answer.find("\r\n\r\n") + 4 + length));
  return answer;
}

HttpRequest without_conditions(HttpRequest request) {
  for (const std::string& name : kConditions) drop(request, name);
  return request;
}

}  // namespace

BadProxy::BadProxy(int server_port, std::uint64_t seed, const std::string& host)
    : server_port_(server_port),
      seed_(seed),
      server_([this](const HttpRequest& request) { return answer(request); }, false, host) {}

std::string BadProxy::counts() const {
  std::string text;
  for (std::size_t i = 0; i < kFaults; i++)
    text += fmt::format(" {} {}", kFaultNames.at(i), counts_.at(i).load());
  return text;
}

HttpReply BadProxy::answer(const HttpRequest& request) {
  Random random(seed_ * 1'000'003 + static_cast<std::uint64_t>(request.number));
  auto fault = Fault::none;
  if (between(random, 0, 99) < percent_)
    fault = static_cast<Fault>(between(random, 1, static_cast<int>(kFaults) - 1));
  if (!is_possible(fault, request)) fault = Fault::none;
  counts_.at(static_cast<std::size_t>(fault))++;
  HttpRequest passed = request;
  std::chrono::milliseconds pause{0};
  switch (fault) {
    case Fault::dropped:
      return {"", {}, true};
    case Fault::busy:
      return {busy_reply(random), {}, true};
    case Fault::refused:
      return {refusal(), {}, true};
    case Fault::no_range:
      drop(passed, "Range");
      break;
    case Fault::unconditional:
      passed = without_conditions(passed);
      break;
    case Fault::slow:
      pause = std::chrono::milliseconds(between(random, 1, 200));
      break;
    default:
      break;
  }
  std::string bytes = answer_from(server_port_, passed);
  switch (fault) {
    case Fault::unanswered:
      return {"", {}, true};
    case Fault::done_but_busy:
      return {busy_reply(random), {}, true};
    case Fault::done_but_refused:
      return {refusal(), {}, true};
    case Fault::other_range:
      return {with_other_range(std::move(bytes)), {}, true};
    case Fault::short_range:
      return {with_short_range(std::move(bytes), random), {}, true};
    case Fault::cut:
      bytes.resize(static_cast<std::size_t>(between(random, 0, std::ssize(bytes))));
      break;
    default:
      break;
  }
  return {std::move(bytes), pause, true};
}

}  // namespace bloscfs::test
