#include "frame/remote/aws_environment.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "frame/remote/remote_error.hpp"

namespace bloscfs::frame::inline remote {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// Returns a variable, removes it and overwrites its value. The environment that a process began
/// with stays readable in /proc, even after unsetenv(3).
std::string take_variable(const char* name) {
  char* value = std::getenv(name);
  if (value == nullptr) return {};
  std::string result(value);
  std::memset(value, 0, result.size());
  ::unsetenv(name);
  return result;
}

/// Keeps the secrets for later calls, because it removes them from the environment.
S3Credentials take_credentials() {
  static S3Credentials kept;
  const std::string access_key = variable("AWS_ACCESS_KEY_ID");
  const std::string secret_key = take_variable("AWS_SECRET_ACCESS_KEY");
  const std::string session_token = take_variable("AWS_SESSION_TOKEN");
  if (access_key.empty()) return {};
  if (!secret_key.empty()) kept = {access_key, secret_key, session_token};
  if (kept.access_key == access_key) return checked(kept);
  throw RemoteError(EACCES, "AWS_ACCESS_KEY_ID without AWS_SECRET_ACCESS_KEY");
}

std::string take_container_token() {
  static std::string kept;
  if (std::string given = take_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"); !given.empty())
    kept = std::move(given);
  return kept;
}

/// Returns an absolute path, because the daemon changes its working directory later.
std::string path_in(const char* name, const char* usual = nullptr) {
  std::string path = variable(name);
  const std::string home = variable("HOME");
  if (path.starts_with("~/")) path = home + path.substr(1);
  if (path.empty() && usual != nullptr && !home.empty()) path = home + usual;
  return path.empty() ? path : std::filesystem::absolute(path).string();
}

}  // namespace

AwsEnvironment take_aws_environment() {
  static std::mutex mutex;
  const std::lock_guard guard(mutex);
  AwsEnvironment found;
  found.container_token = take_container_token();
  found.credentials = take_credentials();
  found.credentials_file = path_in("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials");
  found.config_file = path_in("AWS_CONFIG_FILE", "/.aws/config");
  found.profile = variable("AWS_PROFILE");
  found.web_identity_token_file = path_in("AWS_WEB_IDENTITY_TOKEN_FILE");
  found.role_arn = variable("AWS_ROLE_ARN");
  found.role_session_name = variable("AWS_ROLE_SESSION_NAME");
  found.container_full_uri = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  found.container_relative_uri = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  found.container_token_file = path_in("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  found.metadata_endpoint = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  const std::string disabled = variable("AWS_EC2_METADATA_DISABLED");
  found.metadata_disabled = disabled == "true" || disabled == "True" || disabled == "TRUE";
  found.sts_endpoint = variable("AWS_ENDPOINT_URL_STS");
  return found;
}

}  // namespace bloscfs::frame::inline remote
