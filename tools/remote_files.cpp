#include "tools/remote_files.hpp"

#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "frame/header/sframe_format.hpp"
#include "frame/open/open.hpp"
#include "frame/store/object_frames.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::tools {
namespace {

/// An empty index is what a frame leaves that was removed.
std::shared_ptr<const frame::Snapshot> open_sparse(
    const std::shared_ptr<frame::ObjectTree>& objects, const std::string& name) {
  const auto index = objects->open(name + "/" + frame::kSframeIndexName, nullptr);
  if (index->state().size == 0) frame::throw_errno(ENOENT, name);
  const auto frames = std::make_shared<frame::ObjectFrames>(objects, frame::kSframeIndexName,
                                                            [](const std::string&) {});
  return frame::open_directory(frames->frame(name, index));
}

}  // namespace

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
  try {
    return frame::open_file(objects->open(*name, nullptr), {});
  } catch (const std::system_error& error) {
    // A web server has no object below one.
    if (error.code() != std::errc::no_such_file_or_directory || !objects->has_tombstones()) throw;
  }
  return open_sparse(objects, *name);
}

bool is_far(const frame::Snapshot& snapshot) {
  const auto* object = dynamic_cast<const frame::ObjectSource*>(snapshot.source().get());
  return object != nullptr && !object->is_in_memory();
}

}  // namespace bloscfs::tools
