#include "frame/remote/s3_signature.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/core.h>

#include "frame/remote/digests.hpp"

namespace bloscfs::frame::inline remote {
namespace {

constexpr const char* kAlgorithm = "AWS4-HMAC-SHA256";

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

/// Removes spaces around the text, and replaces several spaces inside it by one.
std::string with_single_spaces(const std::string& text) {
  std::string result;
  for (const char c : text)
    if (c != ' ' || (!result.empty() && result.back() != ' ')) result += c;
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

/// Sorts a query by names, and then by values. A part without '=' gets one.
std::string sorted_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parts;
  query.remove_prefix(query.starts_with('?') ? 1 : 0);
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::size_t value = std::min(equals + 1, part.size());
    parts.emplace_back(part.substr(0, equals), part.substr(value));
  }
  std::sort(parts.begin(), parts.end());
  std::string result;
  for (const auto& [name, value] : parts)
    result += fmt::format("{}{}={}", result.empty() ? "" : "&", name, value);
  return result;
}

std::string amazon_time(std::time_t now) {
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

Sha256 signing_key(const std::string& secret, const std::string& day, const std::string& region,
                   const std::string& service) {
  const std::string first = "AWS4" + secret;
  Sha256 key =
      hmac_sha256({reinterpret_cast<const std::uint8_t*>(first.data()), first.size()}, day);
  for (const std::string& step : {region, service, std::string("aws4_request")})
    key = hmac_sha256(key, step);
  return key;
}

}  // namespace

std::string content_hash(codec::Bytes body) { return hexadecimal(sha256(body)); }

std::vector<HttpHeader> s3_signature(const S3Credentials& credentials, const std::string& region,
                                     const WebRequest& request,
                                     const std::vector<HttpHeader>& headers, std::time_t now,
                                     const std::string& service) {
  std::map<std::string, std::string> all;
  for (const HttpHeader& header : headers)
    all[lower_case(header.name)] = with_single_spaces(header.value);
  std::vector<HttpHeader> added;
  const auto add = [&](const char* name, std::string value) {
    all[name] = value;
    added.push_back({name, std::move(value)});
  };
  const std::string time = amazon_time(now), day = time.substr(0, 8);
  all["host"] = request.place.url.authority();
  add("x-amz-date", time);
  if (!all.contains(kContentHash)) add(kContentHash, content_hash(request.body));
  if (!credentials.session_token.empty()) add("x-amz-security-token", credentials.session_token);

  std::string lines, names;
  for (const auto& [name, value] : all) {
    lines += fmt::format("{}:{}\n", name, value);
    names += fmt::format("{}{}", names.empty() ? "" : ";", name);
  }
  const std::string canonical =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", name_of(request.method), request.place.url.path,
                  sorted_query(request.place.url.query), lines, names, all[kContentHash]);
  const std::string scope = fmt::format("{}/{}/{}/aws4_request", day, region, service);
  const std::string to_sign =
      fmt::format("{}\n{}\n{}\n{}", kAlgorithm, time, scope, hexadecimal(sha256(canonical)));
  const Sha256 key = signing_key(credentials.secret_key, day, region, service);
  added.push_back({"Authorization", fmt::format("{} Credential={}/{},SignedHeaders={},Signature={}",
                                                kAlgorithm, credentials.access_key, scope, names,
                                                hexadecimal(hmac_sha256(key, to_sign)))});
  return added;
}

}  // namespace bloscfs::frame::inline remote
