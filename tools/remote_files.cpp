#include "tools/remote_files.hpp"

#include <chrono>
#include <utility>

#include "frame/open/open.hpp"
#include "frame/remote/remote_object.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::tools {

std::shared_ptr<frame::HttpClient> RemoteFiles::client() {
  const std::lock_guard guard(mutex_);
  if (!client_) {
    frame::HttpSettings settings;
    settings.cafile = options_.cafile;
    settings.retry_time = std::chrono::seconds(options_.retry_time);
    settings.notice = [](const std::string& text) { fs::log::warn(text); };
    client_ = std::make_shared<frame::HttpClient>(std::move(settings));
  }
  return client_;
}

std::shared_ptr<const frame::Snapshot> RemoteFiles::open(const std::string& url) {
  const frame::Url parsed = frame::parse_url(url);
  return frame::open_file(frame::RemoteObject::open(client(), {parsed}), {});
}

bool is_far(const frame::Snapshot& snapshot) {
  const auto* object = dynamic_cast<const frame::RemoteObject*>(snapshot.source().get());
  return object != nullptr && !object->is_in_memory();
}

}  // namespace bloscfs::tools
