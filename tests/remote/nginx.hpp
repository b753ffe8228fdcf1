#pragma once
// A real web server of the test's own, on free ports of the loopback.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/needs.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// nginx and openssl are in PATH.
Precondition needs_nginx(boost::unit_test::test_unit_id);

/// Serves www(), directories as index pages. Beside it: /json/ has the same with pages in JSON,
/// /moved/ redirects there, /busy/ answers 503 to most of many requests at once, /bare/ tells
/// neither ETag nor date, /loop redirects to itself, /down (of https) to http, /closed gives 403,
/// /login 401. Runs as one process that has no privileges, and ends with this object.
class Nginx {
 public:
  Nginx();

  fs_std::path www() const { return root_ / "www"; }
  void serve(const std::string& name, const ByteVector& bytes) { write_file(www() / name, bytes); }
  std::string url(const std::string& name) const;
  std::string secure_url(const std::string& name) const;
  /// Of http.
  int port() const { return port_; }
  /// The certificate of the authority that signed the server's.
  std::string cafile() const { return (root_ / "ca.pem").string(); }

  /// Lines of the access log from here on: "STATUS METHOD PATH RANGE PROTOCOL". Waits for `count`.
  std::vector<std::string> wait_for_requests(std::size_t count);
  /// What the server sent to these, without headers.
  std::uint64_t body_bytes_sent() const;
  /// What was asked for before is not counted any more.
  void forget_requests();

 private:
  void make_certificates() const;
  void write_settings() const;
  bool answers() const;
  struct Logged {
    std::string line;
    std::uint64_t bytes = 0;
  };
  std::vector<Logged> log_lines() const;

  TempDir root_;
  int port_ = 0, secure_port_ = 0;
  std::size_t forgotten_ = 0;
  Child server_;
};

}  // namespace bloscfs::test
