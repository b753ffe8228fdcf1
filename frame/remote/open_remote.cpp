#include "frame/remote/open_remote.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "frame/remote/http_tree.hpp"
#include "frame/remote/remote_error.hpp"

namespace bloscfs::frame {
namespace {

bool is_s3(std::string_view source) {
  constexpr std::string_view kScheme = "s3://";
  return source.size() >= kScheme.size() && (source[0] == 's' || source[0] == 'S') &&
         source.substr(1).starts_with(kScheme.substr(1));
}

HttpSettings http_settings(const RemoteSettings& settings) {
  HttpSettings result;
  result.connections = settings.connections;
  result.retry_time = settings.retry_time;
  // Who gives up soon waits no longer for one attempt.
  if (settings.retry_time.count() > 0)
    result.stall_time = std::min(result.stall_time, settings.retry_time);
  result.cafile = settings.cafile;
  result.netrc = settings.netrc;
  result.notice = settings.notice;
  return result;
}

std::shared_ptr<ObjectTree> open_http(const std::string& source, const RemoteSettings& settings) {
  const Url url = parse_url(source);
  if (settings.writable) throw RemoteError(EROFS, "what is behind HTTP can be read only");
  return std::make_shared<HttpTree>(std::make_shared<HttpClient>(http_settings(settings)), url);
}

}  // namespace

bool is_remote(const std::string& source) { return is_url(source) || is_s3(source); }

std::shared_ptr<ObjectTree> open_remote(const std::string& source, const RemoteSettings& settings) {
  return open_http(source, settings);
}

}  // namespace bloscfs::frame
