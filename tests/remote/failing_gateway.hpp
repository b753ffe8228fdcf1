#pragma once
// A proxy in front of the tests' object store that fails as networks and busy stores do.

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "tests/remote/scripted_server.hpp"

namespace bloscfs::test {

class FailingGateway {
 public:
  /// Stands in front of the server on that port of the loopback.
  explicit FailingGateway(int server_port);

  std::string endpoint() const { return server_.address(""); }
  int requests() const { return server_.requests(); }
  std::vector<HttpRequest> seen() const { return server_.seen(); }

  std::atomic<int> lost_answers{0};        ///< next PUTs of indexes that are done, not answered
  std::atomic<int> lost_chunk_answers{0};  ///< next PUTs of chunks that are done, not answered
  /// Next requests that delete many objects, and are done but answered with "503 Slow Down".
  std::atomic<int> busy_removals{0};
  std::atomic<int> busy{0};          ///< next requests that get 503 and are not done
  std::atomic<int> delay_ms{0};      ///< delay before each request is passed on
  std::atomic<bool> is_down{false};  ///< closes connections without an answer
  /// Does the next PUT of an index, does not answer it, and sets `is_down`.
  std::atomic<bool> ends_with_index{false};
  std::atomic<bool> hides_chunks{false};   ///< answers GETs of chunks with 503
  std::atomic<bool> takes_nothing{false};  ///< answers PUTs with 503

 private:
  HttpReply answer(const HttpRequest& request);

  const int server_port_;
  ScriptedServer server_;
};

}  // namespace bloscfs::test
