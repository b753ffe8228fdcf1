#include "frame/remote/url.hpp"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>
#include <fmt/core.h>

namespace bloscfs::frame::inline remote {
namespace {

constexpr std::string_view kPlain = "http://", kSecure = "https://", kStore = "s3://";
constexpr std::size_t kMaxUrl = 8192, kMaxHost = 253;
constexpr const char* kHidden = "?...";
constexpr std::uint16_t kPlainPort = 80, kSecurePort = 443;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool has_prefix(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(),
                    [](char wanted, char c) { return lower(c) == wanted; });
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

std::string lowered(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

std::string parse_name(std::string_view text) {
  std::string host = lowered(text);
  if (host.empty() || host.size() > kMaxHost) throw UrlError("a URL needs a host");
  if (!std::all_of(host.begin(), host.end(), is_host_character))
    throw UrlError("a URL's host has letters, digits, '.', '-' and '_' alone");
  return host;
}

std::string parse_ipv6(std::string_view text) {
  std::string host = lowered(text);
  in6_addr address{};
  if (::inet_pton(AF_INET6, host.c_str(), &address) != 1)
    throw UrlError("a URL's host in brackets is not an IPv6 address");
  return host;
}

std::uint16_t parse_port(std::string_view text, std::uint16_t usual) {
  if (text.empty()) return usual;
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || stop != end || port == 0)
    throw UrlError("a URL's port is a number from 1 to 65535");
  return port;
}

void parse_authority(std::string_view text, Url& url) {
  if (text.find('@') != std::string_view::npos)
    throw UrlError("user and password in a URL are refused: others can see them");
  const std::uint16_t usual = url.secure ? kSecurePort : kPlainPort;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) throw UrlError("a URL's host lacks its closing bracket");
    url.host = parse_ipv6(text.substr(1, end - 1));
    rest = text.substr(end + 1);
  } else {
    const std::size_t end = std::min(text.find(':'), text.size());
    url.host = parse_name(text.substr(0, end));
    rest = text.substr(end);
  }
  if (!rest.empty() && rest.front() != ':') throw UrlError("a URL's host is followed by its port");
  url.port = parse_port(rest.substr(rest.empty() ? 0 : 1), usual);
}

std::string encoded(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      result += c;
    else
      result += fmt::format("%{:02X}", byte);
  }
  return result;
}

}  // namespace

bool is_url(std::string_view text) { return has_prefix(text, kPlain) || has_prefix(text, kSecure); }

Url parse_url(std::string_view text) {
  if (!is_url(text)) throw UrlError("a URL begins with http:// or https://");
  if (text.size() > kMaxUrl) throw UrlError(fmt::format("a URL has at most {} bytes", kMaxUrl));
  for (const char c : text)
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7F)
      throw UrlError("a URL has no spaces and control characters: write %20 for a space");
  if (text.find('#') != std::string_view::npos)
    throw UrlError("a URL has no fragment: write %23 for a '#' in a name");
  Url url;
  url.secure = has_prefix(text, kSecure);
  const std::string_view rest = text.substr((url.secure ? kSecure : kPlain).size());
  const std::size_t host_end = std::min(rest.find_first_of("/?\\"), rest.size());
  parse_authority(rest.substr(0, host_end), url);
  const std::string_view target = rest.substr(host_end);
  if (target.starts_with('\\')) throw UrlError("a URL's host is followed by '/'");
  const std::size_t path_end = std::min(target.find('?'), target.size());
  url.path = path_end == 0 ? "/" : encoded(target.substr(0, path_end));
  url.query = encoded(target.substr(path_end));
  return url;
}

std::string Url::authority() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  std::string result = is_ipv6 ? "[" + host + "]" : host;
  if (port != (secure ? kSecurePort : kPlainPort)) result += fmt::format(":{}", port);
  return result;
}

std::string Url::origin_and_path() const {
  return std::string(secure ? kSecure : kPlain) + authority() + path;
}

std::string Url::text() const { return origin_and_path() + query; }

std::string Url::shown() const { return origin_and_path() + (query.empty() ? "" : kHidden); }

std::string shown_url(const std::string& text) {
  const bool is_store = has_prefix(text, kStore);
  if (!is_url(text) && !is_store) return text;
  const std::size_t host = text.find("//") + 2;
  // A '@' after the host's end does not belong to a user.
  const std::size_t host_end = std::min(text.find_first_of("/?#\\", host), text.size());
  const std::size_t user_end = text.substr(0, host_end).rfind('@');
  const std::size_t begin = user_end == std::string::npos || user_end < host ? host : user_end + 1;
  // Keys of stores have neither queries nor fragments.
  const std::size_t end =
      is_store ? text.size() : std::min(text.find_first_of("?#", begin), text.size());
  return text.substr(0, host) + text.substr(begin, end - begin) +
         (end < text.size() ? kHidden : "");
}

}  // namespace bloscfs::frame::inline remote
