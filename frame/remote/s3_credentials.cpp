#include "frame/remote/s3_credentials.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string_view>

#include <sys/stat.h>

#include "frame/remote/remote_error.hpp"

namespace bloscfs::frame::inline remote {
namespace {

constexpr off_t kMaxFile = off_t{1} << 20;
constexpr std::size_t kMaxKey = 4096, kMaxToken = 32768, kMaxRegion = 64;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// The bytes that a process began with stay readable in /proc, also of a name that is unset.
std::string take_variable(const char* name) {
  char* value = std::getenv(name);
  if (value == nullptr) return {};
  std::string result(value);
  std::memset(value, 0, result.size());
  ::unsetenv(name);
  return result;
}

std::string without_spaces(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

bool is_sound(const std::string& text, std::size_t longest) {
  return text.size() <= longest &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

S3Credentials checked(S3Credentials found) {
  if (!is_sound(found.access_key, kMaxKey) || !is_sound(found.secret_key, kMaxKey) ||
      !is_sound(found.session_token, kMaxToken))
    throw RemoteError(EINVAL, "the credentials are no words of letters, digits and signs");
  return found;
}

std::optional<S3Credentials> from_environment() {
  static std::mutex mutex;
  static S3Credentials kept;
  const std::lock_guard guard(mutex);
  const std::string access_key = variable("AWS_ACCESS_KEY_ID");
  const std::string secret_key = take_variable("AWS_SECRET_ACCESS_KEY");
  const std::string session_token = take_variable("AWS_SESSION_TOKEN");
  if (access_key.empty()) return std::nullopt;
  if (!secret_key.empty()) kept = {access_key, secret_key, session_token};
  if (kept.access_key == access_key) return kept;
  throw RemoteError(EACCES, "AWS_ACCESS_KEY_ID without AWS_SECRET_ACCESS_KEY");
}

std::string credentials_file() {
  std::string named = variable("AWS_SHARED_CREDENTIALS_FILE");
  if (!named.empty()) return named;
  const std::string home = variable("HOME");
  return home.empty() ? std::string() : home + "/.aws/credentials";
}

/// Nothing where there is none.
std::optional<std::string> read_credentials_file(const std::string& path) {
  struct stat status {};
  if (path.empty() || ::stat(path.c_str(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) || status.st_size > kMaxFile)
    throw RemoteError(EINVAL, path + " is no file of credentials");
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw RemoteError(EACCES, path);
  return text;
}

}  // namespace

std::optional<S3Credentials> parse_credentials(const std::string& text,
                                               const std::string& profile) {
  S3Credentials found;
  bool in_profile = false;
  std::istringstream lines(text);
  for (std::string raw; std::getline(lines, raw);) {
    const std::string line = without_spaces(raw);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      const std::size_t end = line.find(']');
      in_profile = end != std::string::npos && without_spaces(line.substr(1, end - 1)) == profile;
      continue;
    }
    const std::size_t equals = line.find('=');
    if (!in_profile || equals == std::string::npos) continue;
    const std::string name = without_spaces(line.substr(0, equals));
    const std::string value = without_spaces(line.substr(equals + 1));
    if (name == "aws_access_key_id") found.access_key = value;
    if (name == "aws_secret_access_key") found.secret_key = value;
    if (name == "aws_session_token") found.session_token = value;
  }
  if (found.access_key.empty() || found.secret_key.empty()) return std::nullopt;
  return found;
}

std::optional<S3Credentials> find_credentials() {
  if (auto found = from_environment()) return checked(std::move(*found));
  const std::string path = credentials_file();
  const std::optional<std::string> text = read_credentials_file(path);
  const std::string profile = variable("AWS_PROFILE");
  if (text)
    if (auto found = parse_credentials(*text, profile.empty() ? "default" : profile))
      return checked(std::move(*found));
  if (!profile.empty()) throw RemoteError(EACCES, path + " has no keys for AWS_PROFILE");
  return std::nullopt;
}

std::string find_region(const std::string& setting) {
  std::string region = setting;
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"})
    if (region.empty()) region = variable(name);
  if (region.empty()) region = "us-east-1";
  const auto may_stand = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  if (region.size() > kMaxRegion || !std::all_of(region.begin(), region.end(), may_stand))
    throw RemoteError(EINVAL, "a region's name has letters, digits, '-' and '_' alone");
  return region;
}

}  // namespace bloscfs::frame::inline remote
