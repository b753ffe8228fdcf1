#include "frame/remote/s3_address.hpp"

#include <algorithm>

#include <arpa/inet.h>

#include "frame/remote/percent.hpp"

namespace bloscfs::frame::inline remote {
namespace {

constexpr std::string_view kScheme = "s3://";
constexpr std::size_t kShortestBucket = 3, kLongestBucket = 63, kLongestPrefix = 1024;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

void check_bucket(const std::string& bucket) {
  const auto may_stand = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; };
  in_addr address{};
  if (bucket.size() < kShortestBucket || bucket.size() > kLongestBucket ||
      !std::all_of(bucket.begin(), bucket.end(), may_stand) ||
      !is_letter_or_digit(bucket.front()) || !is_letter_or_digit(bucket.back()) ||
      bucket.find("..") != std::string::npos || ::inet_pton(AF_INET, bucket.c_str(), &address) == 1)
    throw UrlError(
        "a bucket's name has 3 to 63 lower-case letters, digits, '-' and '.', and is not an "
        "address");
}

void check_prefix(std::string_view prefix) {
  if (prefix.size() > kLongestPrefix) throw UrlError("a prefix has at most 1024 bytes");
  if (prefix.find('\0') != std::string_view::npos) throw UrlError("a prefix has no NUL");
  if (prefix.find('?') != std::string_view::npos) throw UrlError("s3:// URLs have no query");
  while (!prefix.empty()) {
    const std::string_view component = prefix.substr(0, prefix.find('/'));
    if (component.empty() || component == "." || component == "..")
      throw UrlError("a prefix has no components that are empty, a point, or two");
    prefix.remove_prefix(std::min(component.size() + 1, prefix.size()));
  }
}

Url store_url(const std::string& endpoint, const std::string& region) {
  if (endpoint.empty()) return parse_url("https://s3." + region + ".amazonaws.com");
  Url url = parse_url(endpoint);
  if (url.path != "/" || !url.query.empty())
    throw UrlError("an endpoint is a URL without path and query");
  return url;
}

}  // namespace

bool is_s3(std::string_view text) {
  const auto same = [](char wanted, char c) { return wanted == (c == 'S' ? 's' : c); };
  return text.size() >= kScheme.size() &&
         std::equal(kScheme.begin(), kScheme.end(), text.begin(), same);
}

S3Source parse_s3(std::string_view text) {
  if (!is_s3(text)) throw UrlError("a URL of an object store begins with s3://");
  text.remove_prefix(kScheme.size());
  const std::size_t bucket_end = std::min(text.find('/'), text.size());
  S3Source source{std::string(text.substr(0, bucket_end)), {}};
  if (source.bucket.find('@') != std::string::npos)
    throw UrlError("user and password in a URL are refused: others can see them");
  check_bucket(source.bucket);
  source.prefix = text.substr(std::min(bucket_end + 1, text.size()));
  check_prefix(source.prefix);
  return source;
}

S3Address::S3Address(const std::string& bucket, const std::string& endpoint,
                     const std::string& region, bool virtual_host)
    : bucket_(bucket), base_(store_url(endpoint, region)) {
  // The '*' in Amazon's certificate stands for one component of the host name only.
  const bool has_dots = bucket.find('.') != std::string::npos;
  if (virtual_host || (endpoint.empty() && !has_dots))
    base_ = parse_url((base_.secure ? "https://" : "http://") + bucket + "." + base_.authority());
  else
    base_.path = "/" + bucket + "/";
}

Url S3Address::object(std::string_view key) const {
  Url url = base_;
  url.path += percent_encoded(key);
  return url;
}

Url S3Address::whole_bucket(const std::string& query) const {
  Url url = base_;
  if (url.path.size() > 1) url.path.pop_back();
  url.query = query;
  return url;
}

std::string S3Address::copy_source(std::string_view key) const {
  return "/" + bucket_ + "/" + percent_encoded(key);
}

std::string S3Address::shown(std::string_view key) const { return object(key).text(); }

}  // namespace bloscfs::frame::inline remote
