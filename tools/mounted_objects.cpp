#include "tools/mounted_objects.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

#include <sys/stat.h>

#include "frame/remote/open_remote.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::tools {
namespace {

/// Others may be writing there, too: only who asks for it does.
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
  settings.connections = given.connections;
  settings.retry_time = given.retry_time;
  settings.disk_cache = given.disk_cache;
  settings.disk_cache_size = given.disk_cache_size;
  settings.notice = [](const std::string& text) { fs::log::warn(text); };
  return settings;
}

}  // namespace

void choose_objects(fs::SessionSettings& settings) {
  const std::string& option = settings.options.remote.one_given;
  if (!frame::is_remote(settings.source)) {
    if (!option.empty()) throw std::invalid_argument("option " + option + ": for a URL alone");
    return;
  }
  frame::RemoteSettings remote = remote_settings(settings.options);
  auto objects = std::make_shared<fs::ObjectSetting>();
  objects->is_writable = is_to_be_written(settings.source, settings.options);
  remote.writable = objects->is_writable;
  for (const std::string& file : {remote.cafile, remote.netrc})
    if (!file.empty()) objects->files.push_back(file);
  if (!remote.disk_cache.empty()) {
    // The sandbox lets nothing in that is not there yet. Whoever opens it says what is wrong.
    ::mkdir(remote.disk_cache.c_str(), 0700);
    objects->folders.push_back(remote.disk_cache);
  }
  objects->open = [source = settings.source, remote = std::move(remote)] {
    return frame::open_remote(source, remote);
  };
  settings.objects = std::move(objects);
}

}  // namespace bloscfs::tools
