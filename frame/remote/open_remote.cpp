#include "frame/remote/open_remote.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "frame/remote/disk_cache.hpp"
#include "frame/remote/http_tree.hpp"
#include "frame/remote/remote_error.hpp"
#include "frame/remote/s3_address.hpp"
#include "frame/remote/s3_tree.hpp"

namespace bloscfs::frame::inline remote {
namespace {

std::shared_ptr<ObjectTree> open_http(const std::string& source, const RemoteSettings& settings) {
  const Url url = parse_url(source);
  if (settings.writable)
    throw RemoteError(EROFS, "http:// and https:// can only be read; mount with -o ro");
  return std::make_shared<HttpTree>(std::make_shared<HttpClient>(http_settings(settings)), url,
                                    open_disk_cache(settings), traffic_of(settings));
}

}  // namespace

bool is_remote(const std::string& source) { return is_url(source) || is_s3(source); }

std::shared_ptr<ObjectTree> open_remote(const std::string& source, const RemoteSettings& settings) {
  return is_s3(source) ? open_s3(source, settings) : open_http(source, settings);
}

}  // namespace bloscfs::frame::inline remote
