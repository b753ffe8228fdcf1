#pragma once
// What is asked of a server, and what comes of it.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "frame/remote/http_answer.hpp"
#include "frame/remote/url.hpp"

namespace bloscfs::frame {

struct HttpSettings {
  unsigned connections = 16;  ///< transfers at once; others wait
  /// No attempt begins later than that after the first; 0: there is one attempt.
  std::chrono::milliseconds retry_time{60'000};
  std::string cafile;  ///< whom to trust in place of the system's authorities; empty: these
  /// An attempt that gets less than 1 KiB a second for so long has failed.
  std::chrono::seconds stall_time{20};
  /// Is told, by any thread, that something is tried again: once for each request. May be empty.
  std::function<void(const std::string&)> notice;
};

/// Where an object is, and how one got there.
struct HttpPlace {
  Url url;
  /// Some address on the way was a public one: none that follows may be private.
  bool came_from_public = false;
};

struct RangeRequest {
  HttpPlace place;
  std::uint64_t offset = 0;
  std::uint32_t size = 0;        ///< at least 1
  std::uint32_t whole_size = 0;  ///< of a whole object that comes in place of the range, at most
  std::string if_match, if_unmodified_since;  ///< of the headers with these names; empty: none
};

/// With status 206, 200 (a whole object), 412, or 416. Of 206 range and body are sound: from where
/// it was asked for on, and to its end or that of the object.
struct HttpAnswer {
  AnswerHeaders headers;
  std::vector<std::uint8_t> body;  ///< empty with 412 and 416
  HttpPlace place;                 ///< behind all redirects
};

}  // namespace bloscfs::frame
