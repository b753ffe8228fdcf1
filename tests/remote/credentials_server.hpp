#pragma once
// Plays the services of a cloud that give credentials: the metadata service of an instance
// (IMDSv2), the credentials server of a container, and the Security Token Service.

#include <mutex>
#include <string>
#include <vector>

#include "tests/remote/scripted_server.hpp"

namespace bloscfs::test {

class CredentialsServer {
 public:
  CredentialsServer();

  /// Sets the access key that all services give from now on; before, it is "KEY". The credentials
  /// expire `lifetime` seconds after each answer.
  void give(const std::string& access_key, int lifetime = 3600);
  /// Makes the server answer all requests with status 500, or work again.
  void set_broken(bool is_broken);
  std::string address(const std::string& path = "") const { return server_.address(path); }
  std::vector<HttpRequest> seen() const { return server_.seen(); }

  static constexpr const char* kContainerPath = "/container";
  static constexpr const char* kContainerToken = "token-of-container";
  /// The secret key that belongs to an access key.
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

/// Returns the UTC time so many seconds from now, as "2013-05-24T00:00:00Z".
std::string time_from_now(int seconds);

}  // namespace bloscfs::test
