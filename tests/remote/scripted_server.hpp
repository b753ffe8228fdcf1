#pragma once
// An HTTP server on the loopback. A function of the test makes its answers, correct or not.

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "frame/remote/url.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

struct HttpRequest {
  int number = 0;  ///< counts the server's requests from 0 on
  std::string head, body;
  std::uint64_t first = 0, last = 0;  ///< first and last byte of the requested range

  /// Returns the value of a header line; empty if the request lacks it.
  std::string value(const std::string& name) const;
};

struct HttpReply {
  std::string bytes;
  std::chrono::milliseconds before{0};  ///< pause before the reply
  bool close = false;                   ///< closes the connection after the reply
  /// Sends the head on its own. The kernel sends a short body once the head is acknowledged.
  bool head_first = false;
};

class ScriptedServer {
 public:
  using Answer = std::function<HttpReply(const HttpRequest&)>;

  /// If `remembers` is true, the server keeps all requests with their bodies for seen(). `host` is
  /// an address of this machine. Several threads may call `answer` at the same time.
  explicit ScriptedServer(Answer answer, bool remembers = true,
                          const std::string& host = "127.0.0.1");
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string address(const std::string& path = "/x") const;
  frame::Url url(const std::string& path = "/x") const { return frame::parse_url(address(path)); }
  int port() const { return port_; }
  int requests() const { return requests_; }
  std::vector<HttpRequest> seen() const;

 private:
  struct Connection {
    Fd fd;
    std::atomic<bool> is_over{false};
    std::thread thread;
  };

  void accept_all();
  void drop_ended();
  void serve(int connection);
  void send(int connection, const HttpReply& reply) const;

  const Answer answer_;
  const bool remembers_;
  const std::string host_;
  Fd listener_;
  int port_ = 0;
  std::atomic<bool> ending_{false};
  std::atomic<int> requests_{0};
  mutable std::mutex mutex_;
  std::vector<HttpRequest> seen_;
  std::list<Connection> connections_;
  std::thread acceptor_;
};

/// Returns an answer with a Content-Length. `status` is such as "206 Partial Content". Each line of
/// `headers` ends in \r\n.
std::string reply_of(const std::string& status, const std::string& headers,
                     const std::string& body);

/// Returns the access key in the signature of a request; empty if the request is not signed.
std::string access_key_of(const HttpRequest& request);

/// Returns the correct answer to a request for a range of `object`.
std::string range_of(const std::string& object, const HttpRequest& request,
                     const std::string& headers = "ETag: \"1\"\r\n");

/// Sends a request to the server on a port of the loopback and returns its whole answer. Empty if
/// the server cannot be reached.
std::string answer_from(int port, const HttpRequest& request);

/// Returns a port of the loopback on which no program listens.
int free_port();

}  // namespace bloscfs::test
