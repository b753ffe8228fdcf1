#pragma once
// A server on the loopback that answers as a test says, rightly or not.

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

/// A request as it came: its lines, and what follows them.
struct HttpRequest {
  int number = 0;  ///< from 0 on, of the server
  std::string head, body;
  std::uint64_t first = 0, last = 0;  ///< of the range

  /// Of a header line; empty where there is none.
  std::string value(const std::string& name) const;
};

/// What goes out, in pieces; the connection is closed after the last one if `close`.
struct HttpReply {
  std::string bytes;
  std::chrono::milliseconds before{0};  ///< a pause
  bool close = false;
  bool head_first = false;  ///< on its own; the body waits until that is acknowledged
};

class ScriptedServer {
 public:
  using Answer = std::function<HttpReply(const HttpRequest&)>;

  /// `remembers`: for seen(), with their bodies. `host`: an address of this machine.
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

/// An answer with a length: "206 Partial Content", header lines that end in \r\n, and a body.
std::string reply_of(const std::string& status, const std::string& headers,
                     const std::string& body);

/// Whose signature a request has; empty: none.
std::string access_key_of(const HttpRequest& request);

/// The right answer to a request for a range of `object`.
std::string range_of(const std::string& object, const HttpRequest& request,
                     const std::string& headers = "ETag: \"1\"\r\n");

/// What the server on a port of the loopback answers, in full; empty where it cannot be reached.
std::string answer_from(int port, const HttpRequest& request);

/// A port of the loopback that nobody listens on.
int free_port();

}  // namespace bloscfs::test
