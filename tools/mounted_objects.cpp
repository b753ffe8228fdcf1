#include "tools/mounted_objects.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "frame/remote/cache_folder.hpp"
#include "frame/remote/open_remote.hpp"
#include "frame/remote/s3_address.hpp"
#include "frame/remote/s3_credentials.hpp"
#include "frame/remote/url.hpp"
#include "fs/support/log.hpp"
#include "tools/credentials_process.hpp"

namespace bloscfs::tools {
namespace {

/// True if the mount is to be writable. That needs s3:// and the option rw, because other programs
/// may write to the same bucket.
bool is_to_be_written(const std::string& source, const fs::MountOptions& options) {
  return source.starts_with("s3://") && !options.read_only &&
         options.unwritable != fs::Unwritable::shown;
}

frame::RemoteSettings remote_settings(const fs::MountOptions& options) {
  const fs::RemoteOptions& given = options.remote;
  frame::RemoteSettings settings;
  settings.endpoint = given.endpoint;
  settings.region = given.region;
  settings.virtual_host = given.virtual_host;
  settings.anonymous = given.anonymous;
  settings.cafile = given.cafile;
  settings.netrc = given.netrc;
  settings.proxy = given.proxy;
  settings.connections = given.connections;
  settings.retry_time = given.retry_time;
  settings.retries_first_contact = given.retries_first_contact;
  settings.disk_cache = given.disk_cache;
  // cache_size limits the memory of the whole mount. Requests in flight get up to an eighth of it.
  settings.max_bytes_in_flight = std::min(settings.max_bytes_in_flight, options.cache_size / 8);
  settings.disk_cache_size = given.disk_cache_size;
  settings.notice = [](const std::string& text) { fs::log::warn(text); };
  return settings;
}

/// Returns credentials for a daemon that can reach nothing but the store. Credentials that can
/// change come from a separate process outside of the sandbox. Keys in the environment never
/// change, so they need no process.
std::shared_ptr<frame::CredentialsSource> credentials_of(const frame::RemoteSettings& settings) {
  auto found = frame::credentials_lookup(settings);
  if (found->can_change()) found = std::make_shared<CredentialsProcess>(std::move(found));
  frame::require_credentials(*found);
  return found;
}

/// Throws if the source is a URL of a scheme such as ftp, and no file with that name exists.
void refuse_unknown_scheme(const std::string& source) {
  const std::size_t end = source.find("://");
  std::error_code error;
  if (end == std::string::npos || source.find('/') < end || std::filesystem::exists(source, error))
    return;
  throw std::invalid_argument("not a known kind of URL; it begins with http://, https:// or s3://");
}

/// Refuses what can be refused before the mount exists, because the sandbox later lets the daemon
/// reach only what it needs. Takes the secrets out of the environment now, because each process
/// that starts later gets a copy of the environment.
void check_before_mounting(const std::string& source, frame::RemoteSettings& settings) {
  if (!settings.proxy.empty()) frame::check_proxy(settings.proxy);
  if (frame::is_url(source)) {
    frame::parse_url(source);
  } else {
    const frame::S3Source parsed = frame::parse_s3(source);
    const std::string region = frame::find_region(settings.region);
    // Throws if the endpoint is not a URL.
    const frame::S3Address address(parsed.bucket, settings.endpoint, region, settings.virtual_host);
    if (!settings.anonymous) settings.credentials = credentials_of(settings);
  }
  if (!settings.disk_cache.empty()) frame::CacheFolder{settings.disk_cache};
}

}  // namespace

void set_object_source(fs::SessionSettings& settings) {
  const std::string& option = settings.options.remote.given_option;
  if (!frame::is_remote(settings.source)) {
    if (!option.empty())
      throw std::invalid_argument("option " + option + ": can only be used with a URL");
    refuse_unknown_scheme(settings.source);
    return;
  }
  frame::RemoteSettings remote = remote_settings(settings.options);
  check_before_mounting(settings.source, remote);
  const std::string& bearer_file = settings.options.remote.bearer_file;
  if (!bearer_file.empty()) remote.bearer = frame::read_bearer(bearer_file);
  auto objects = std::make_shared<fs::ObjectSetting>();
  objects->shown = frame::shown_url(settings.source);
  objects->is_writable = is_to_be_written(settings.source, settings.options);
  remote.writable = objects->is_writable;
  remote.may_be_empty = remote.writable && settings.options.remote.create;
  for (const std::string& file : {remote.cafile, remote.netrc})
    if (!file.empty()) objects->files.push_back(file);
  if (!remote.disk_cache.empty()) {
    // The directory must exist before the sandbox starts, because the sandbox admits only existing
    // paths. Errors are reported when the directory is opened.
    ::mkdir(remote.disk_cache.c_str(), 0700);
    objects->folders.push_back(remote.disk_cache);
  }
  objects->open = [source = settings.source, remote = std::move(remote)] {
    return frame::open_remote(source, remote);
  };
  settings.objects = std::move(objects);
}

}  // namespace bloscfs::tools
