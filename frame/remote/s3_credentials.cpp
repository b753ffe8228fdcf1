#include "frame/remote/s3_credentials.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "frame/remote/remote_error.hpp"
#include "frame/remote/s3_listing.hpp"

namespace bloscfs::frame::inline remote {
namespace {

constexpr std::size_t kMaxRegion = 64;

bool is_sound(const std::string& text, std::size_t longest) {
  return text.size() <= longest &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

/// Parses ISO 8601 with Z or an offset. Returns 0 for an empty text.
std::int64_t parse_time(const std::string& text) {
  if (text.empty()) return 0;
  std::tm parts{};
  int end = 0;
  const int fields =
      std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &end);
  std::string zone = fields == 6 ? text.substr(static_cast<std::size_t>(end)) : "?";
  if (zone.starts_with('.')) zone.erase(0, std::min(zone.find_first_of("Z+-"), zone.size()));
  std::erase(zone, ':');
  int hours = 0, minutes = 0;
  const bool has_offset = zone.size() == 5 && (zone[0] == '+' || zone[0] == '-') &&
                          std::sscanf(zone.c_str() + 1, "%2d%2d", &hours, &minutes) == 2;
  if (!has_offset && zone != "Z" && !zone.empty())
    throw RemoteError(EINVAL, "the expiration of the credentials is not a time");
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  const std::int64_t offset = (std::int64_t{hours} * 60 + minutes) * 60;
  const std::int64_t time = ::timegm(&parts) - (zone.starts_with('-') ? -offset : offset);
  return std::max<std::int64_t>(1, time);
}

std::string string_in(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<S3Credentials> credentials_of(S3Credentials found, const std::string& expiration) {
  if (found.access_key.empty() || found.secret_key.empty()) return std::nullopt;
  found.expires = parse_time(expiration);
  return checked(std::move(found));
}

}  // namespace

S3Credentials checked(S3Credentials found) {
  if (!is_sound(found.access_key, kMaxKey) || !is_sound(found.secret_key, kMaxKey) ||
      !is_sound(found.session_token, kMaxSessionToken))
    throw RemoteError(EINVAL,
                      "the credentials are too long, or have blanks or non-ASCII characters");
  return found;
}

std::optional<S3Credentials> parse_json_credentials(codec::Bytes json) {
  const auto object = nlohmann::json::parse(json.begin(), json.end(), nullptr, false);
  if (!object.is_object()) return std::nullopt;
  std::string token = string_in(object, "SessionToken");
  if (token.empty()) token = string_in(object, "Token");
  return credentials_of(
      {string_in(object, "AccessKeyId"), string_in(object, "SecretAccessKey"), std::move(token)},
      string_in(object, "Expiration"));
}

std::optional<S3Credentials> parse_sts_credentials(codec::Bytes xml) {
  auto words = parse_sts_answer(xml);
  return credentials_of(
      {std::move(words.access_key), std::move(words.secret_key), std::move(words.session_token)},
      words.expiration);
}

S3Credentials require_credentials(CredentialsSource& source) {
  if (auto found = source.find(CredentialsSource::Look::if_changed)) return std::move(*found);
  throw RemoteError(
      EACCES,
      "no credentials: neither AWS_ACCESS_KEY_ID nor a credentials file has "
      "them, nor a container or the instance metadata; mount with -o anonymous to do without");
}

std::string find_region(const std::string& setting) {
  std::string region = setting;
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    const char* const value = std::getenv(name);
    if (region.empty() && value != nullptr) region = value;
  }
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
