#pragma once
// Runs a real web server for a test, on free ports of the loopback.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/needs.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// True if PATH has nginx and openssl.
Precondition needs_nginx(boost::unit_test::test_unit_id);

/// Serves www(), with index pages for directories. It runs as one process without privileges. The
/// destructor ends it. Other paths:
/// - /json/ serves www() with index pages in JSON;
/// - /private/ serves www() to the user "me" with the password "secret";
/// - /busy/ serves www(), and answers most of many simultaneous requests with 503;
/// - /bare/ serves www() without ETag and date;
/// - /moved/ redirects to www();
/// - /loop redirects to itself;
/// - /down redirects to http, also from https;
/// - /closed answers 403, and /login 401.
class Nginx {
 public:
  Nginx();

  fs_std::path www() const { return root_ / "www"; }
  void serve(const std::string& name, const ByteVector& bytes) { write_file(www() / name, bytes); }
  std::string url(const std::string& name) const;
  std::string secure_url(const std::string& name) const;
  /// Returns the port for http.
  int port() const { return port_; }
  /// Returns the file with the certificate of the authority that signed the server's certificate.
  std::string cafile() const { return (root_ / "ca.pem").string(); }

  /// Waits until the access log has `count` lines since the last forget_requests(). Returns all
  /// lines since then: "STATUS METHOD PATH RANGE PROTOCOL".
  std::vector<std::string> wait_for_requests(std::size_t count);
  /// Returns how many body bytes the server has sent since the last forget_requests().
  std::uint64_t body_bytes_sent() const;
  /// Makes the two functions above ignore all earlier requests.
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
