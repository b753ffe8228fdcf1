#pragma once
// Plays what gives credentials in a cloud: the metadata of an instance (IMDSv2), a container's
// server, and the Security Token Service.

#include <mutex>
#include <string>
#include <vector>

#include "tests/remote/scripted_server.hpp"

namespace bloscfs::test {

class CredentialsServer {
 public:
  CredentialsServer();

  /// The access key that all give from now on, "KEY" first; they expire after `lifetime` seconds.
  void give(const std::string& access_key, int lifetime = 3600);
  /// Answers with status 500 as long as it is.
  void set_broken(bool is_broken);
  std::string address(const std::string& path = "") const { return server_.address(path); }
  std::vector<HttpRequest> seen() const { return server_.seen(); }

  static constexpr const char* kContainerPath = "/container";
  static constexpr const char* kContainerToken = "token-of-container";
  /// What is given: the secret key of any access key, and the session token.
  static std::string secret_of(const std::string& access_key) { return "secret-of-" + access_key; }
  static constexpr const char* kSessionToken = "token-of-session";

 private:
  HttpReply answer(const HttpRequest& request);
  std::string json(const char* token_name) const;

  mutable std::mutex mutex_;
  std::string access_key_ = "KEY";
  int lifetime_ = 3600;
  bool is_broken_ = false;
  ScriptedServer server_;
};

/// As time of day in UTC, so many seconds from now.
std::string time_from_now(int seconds);

}  // namespace bloscfs::test
