#include "tools/remote_files.hpp"

#include <cerrno>
#include <chrono>

#include "frame/open/open.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::tools {

RemoteFiles::RemoteFiles(const RemoteOptions& options, bool writable) {
  settings_.writable = writable;
  settings_.endpoint = options.endpoint;
  settings_.region = options.region;
  settings_.virtual_host = options.virtual_host;
  settings_.anonymous = options.anonymous;
  settings_.cafile = options.cafile;
  settings_.netrc = options.netrc;
  settings_.retry_time = std::chrono::seconds(options.retry_time);
  settings_.notice = [](const std::string& text) { fs::log::warn(text); };
}

std::shared_ptr<frame::ObjectTree> RemoteFiles::tree(const std::string& url) const {
  return frame::open_remote(url, settings_);
}

std::shared_ptr<const frame::Snapshot> RemoteFiles::open(const std::string& url) const {
  const auto objects = tree(url);
  const auto& name = objects->single();
  if (!name) frame::throw_errno(EISDIR, url);
  return frame::open_file(objects->open(*name, nullptr), {});
}

bool is_far(const frame::Snapshot& snapshot) {
  const auto* object = dynamic_cast<const frame::ObjectSource*>(snapshot.source().get());
  return object != nullptr && !object->is_in_memory();
}

}  // namespace bloscfs::tools
