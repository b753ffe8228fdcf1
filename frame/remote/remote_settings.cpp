#include "frame/remote/remote_settings.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>

#include <sys/stat.h>

#include "frame/remote/credentials_lookup.hpp"
#include "frame/remote/remote_error.hpp"
#include "frame/remote/url.hpp"

namespace bloscfs::frame::inline remote {

std::string read_bearer(const std::string& path) {
  constexpr std::size_t kLongest = 16384;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw RemoteError(errno, path);
  if (!S_ISREG(status.st_mode) || (status.st_mode & 077) != 0)
    throw RemoteError(
        EACCES, path + ": must be a file that only its owner can access; run chmod 600 on it");
  std::ifstream file(path);
  std::string token;
  std::getline(file, token);
  if (token.ends_with('\r')) token.pop_back();
  const bool is_token =
      !token.empty() && token.size() <= kLongest &&
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (!is_token) throw RemoteError(EINVAL, path + ": the first line is not a token");
  return token;
}

void check_proxy(const std::string& url) {
  const Url parsed = parse_url(url);
  if (parsed.secure || (parsed.path != "/" && !parsed.path.empty()) || !parsed.query.empty())
    throw UrlError("a proxy is http://HOST:PORT");
}

HttpSettings http_settings(const RemoteSettings& settings) {
  HttpSettings result;
  result.connections = settings.connections;
  result.retry_time = settings.retry_time;
  result.retries_first_contact = settings.retries_first_contact;
  // A stalled attempt must not last longer than retry_time.
  if (settings.retry_time.count() > 0)
    result.stall_time = std::min(result.stall_time, settings.retry_time);
  result.cafile = settings.cafile;
  result.netrc = settings.netrc;
  result.bearer = settings.bearer;
  result.proxy = settings.proxy;
  result.notice = settings.notice;
  return result;
}

std::shared_ptr<CredentialsSource> credentials_lookup(const RemoteSettings& settings) {
  HttpSettings http;
  http.retry_time = settings.retry_time;
  http.cafile = settings.cafile;
  http.proxy = settings.proxy;
  return std::make_shared<CredentialsLookup>(take_aws_environment(), std::move(http),
                                             settings.region);
}

}  // namespace bloscfs::frame::inline remote
