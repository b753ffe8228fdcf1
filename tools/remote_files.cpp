#include "tools/remote_files.hpp"

#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "codec/error.hpp"
#include "frame/open/open.hpp"
#include "frame/pystore/store_names.hpp"
#include "frame/store/object_frames.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/support/log.hpp"
#include "tools/remote_tree.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

constexpr int kRetryTime = 60;  // seconds

bool is_missing(const std::system_error& error) {
  return error.code() == std::errc::no_such_file_or_directory;
}

/// Opens the index of a sparse frame. Returns null if it does not exist. An empty index remains
/// where a frame was removed, so it counts as missing.
std::shared_ptr<const frame::ObjectSource> open_index(frame::ObjectTree& objects,
                                                      const std::string& name) {
  try {
    auto index = objects.open(name + "/" + frame::kSframeIndexName, nullptr);
    return index->state().size > 0 ? index : nullptr;
  } catch (const std::system_error& error) {
    if (!is_missing(error)) throw;
    return nullptr;
  }
}

std::shared_ptr<const frame::Snapshot> open_sparse(
    const std::shared_ptr<frame::ObjectTree>& objects, const std::string& name,
    const std::shared_ptr<const frame::ObjectSource>& index) {
  const auto frames = std::make_shared<frame::ObjectFrames>(objects, [](const std::string&) {});
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
  settings_.retry_time = std::chrono::seconds(options.retry_time.value_or(kRetryTime));
  settings_.retries_first_contact = options.retry_time.has_value();
  settings_.notice = [](const std::string& text) { fs::log::warn(text); };
}

std::shared_ptr<frame::ObjectTree> RemoteFiles::tree(const std::string& url) const {
  return frame::open_remote(url, settings_);
}

std::shared_ptr<FileTree> RemoteFiles::files(const std::string& url) const {
  auto objects = tree(url);
  if (objects->single()) return nullptr;
  return std::make_shared<RemoteTree>(std::move(objects), url);
}

std::unique_ptr<frame::PythonStore> RemoteFiles::find_store(const std::string& url) const {
  const auto objects = tree(url);
  const auto& name = objects->single();
  if (!name) frame::throw_errno(EISDIR, url);
  const auto source = objects->open(*name, nullptr);
  if (auto store = frame::open_zip_store(source, {})) return store;
  std::shared_ptr<const frame::Snapshot> snapshot = frame::open_file(source, {});
  return snapshot ? frame::open_embed_store(std::move(snapshot)) : nullptr;
}

std::unique_ptr<frame::PythonStore> RemoteFiles::open_store(const std::string& url) const {
  if (auto store = find_store(url)) return store;
  codec::throw_malformed("not a store of python-blosc2");
}

std::unique_ptr<frame::PythonStore> RemoteFiles::find_zip_store(const std::string& url) const {
  auto store = url.ends_with(frame::kZipStoreSuffix) ? find_store(url) : nullptr;
  return store && store->kind() != frame::StoreKind::embed ? std::move(store) : nullptr;
}

std::shared_ptr<const frame::Snapshot> RemoteFiles::open(const std::string& url) const {
  if (const auto address = parse_remote_address(url))
    return open_leaf(*open_store(address->store), *address);
  const auto objects = tree(url);
  const auto& name = objects->single();
  if (!name) throw std::runtime_error("is a directory; name a frame in it (b2frame ls lists them)");
  try {
    return frame::open_file(objects->open(*name, nullptr), {});
  } catch (const std::system_error& error) {
    if (!is_missing(error)) throw;
    // No object has this name, but it may be the directory of a sparse frame.
    const auto index = open_index(*objects, *name);
    if (!index) throw;
    return open_sparse(objects, *name, index);
  }
}

}  // namespace bloscfs::tools
