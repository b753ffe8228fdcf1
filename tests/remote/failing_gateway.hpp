#pragma once
// Stands in front of the object store of the tests, and fails as networks and busy stores do.

#include <atomic>
#include <chrono>
#include <string>

#include "tests/remote/scripted_server.hpp"

namespace bloscfs::test {

class FailingGateway {
 public:
  /// In front of a server on that port of the loopback.
  explicit FailingGateway(int server_port);

  std::string endpoint() const { return server_.address(""); }
  int requests() const { return server_.requests(); }

  std::atomic<int> lost_answers{0};        ///< of so many puts of indexes: done, and not answered
  std::atomic<int> lost_chunk_answers{0};  ///< the same of chunks
  std::atomic<int> busy{0};                ///< so many requests are answered with 503, and not done
  std::atomic<int> delay_ms{0};            ///< of each request, before it is done
  std::atomic<bool> is_down{false};        ///< connections are closed at once
  std::atomic<bool> ends_with_index{
      false};  ///< is_down from the next put of an index on, which is done
  std::atomic<bool> hides_chunks{false};   ///< who asks for a chunk is answered with 503
  std::atomic<bool> takes_nothing{false};  ///< who puts something is answered with 503

 private:
  HttpReply answer(const HttpRequest& request);

  const int server_port_;
  ScriptedServer server_;
};

}  // namespace bloscfs::test
