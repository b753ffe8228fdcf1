#include "fs/file_contents.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/xattr.h>

#include "fs/plain_to_frame.hpp"

namespace bloscfs::fs {
namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

bool has_vlmetalayer(const Content& content, const std::string& name) {
  if (const auto uncommitted = content.uncommitted_vlmetalayer(name))
    return uncommitted->has_value();
  const auto snapshot = content.snapshot();
  if (!snapshot) return false;
  for (const auto& entry : snapshot->vlmetalayers())
    if (entry.name == name) return true;
  return false;
}

}  // namespace

std::shared_ptr<const OpenFile> FileContents::open(NodeId node, const SourceEntry& entry) {
  if (auto file = tree_.opened(node); file && file->content) return file;
  const std::string path = tree_.path(node);
  auto file = std::make_shared<OpenFile>();
  file->attributes = tree_.attributes_of(entry);
  std::shared_ptr<const frame::Snapshot> snapshot;
  try {
    snapshot = classifier_.open(path, entry.is_sframe);
  } catch (const std::system_error& error) {
    // It has been renamed meanwhile, or a directory above it has.
    if (error.code() != std::errc::no_such_file_or_directory) throw;
  }
  if (!snapshot || !(snapshot->stamp() == frame::stamp_of(entry.source))) fail(ESTALE, path);
  file->content = std::make_shared<Content>(services_, std::move(snapshot));
  return tree_.share_opened(node, std::move(file), entry);
}

std::shared_ptr<const OpenFile> FileContents::open_for_writing(NodeId node,
                                                               std::shared_ptr<ContentHome> home) {
  auto file = open(node, tree_.entry(node));
  file->content->make_writable(std::move(home));
  return file;
}

void FileContents::changed(const std::shared_ptr<const OpenFile>& file) {
  committer_.note(file->content, file);
  if (!file->content->has_writers()) committer_.queue(file->content, services_.options.strict);
}

void FileContents::created(NodeId node, std::shared_ptr<ContentHome> home) {
  auto file = std::make_shared<OpenFile>();
  file->content = std::make_shared<Content>(services_, tree_.attributes(node).st_mtim);
  file->content->make_writable(std::move(home));
  tree_.set_opened(node, file);
  changed(file);
}

void FileContents::commit(const std::vector<NodeId>& nodes, bool) {
  Committer::Contents contents;
  for (const NodeId node : nodes)
    if (const auto file = tree_.opened(node); file && file->content->needs_commit())
      contents.push_back(file->content);
  committer_.commit(contents);
}

std::shared_ptr<void> FileContents::hold_flat(NodeId node, std::shared_ptr<ContentHome> home) {
  const auto file = open_for_writing(node, std::move(home));
  file->content->hold_flat(true);
  std::shared_ptr<void> held(nullptr, [this, file](void*) {
    file->content->hold_flat(false);
    if (file->content->needs_commit()) changed(file);
  });
  committer_.note(file->content, file);
  committer_.commit({file->content});
  return held;
}

void FileContents::renamed(NodeId node, std::shared_ptr<ContentHome> home) {
  bool has_links = false, can_be_array = false;
  {
    const auto name_lock = home->lock_name();
    has_links = name_lock->place().has_links;
    can_be_array = !name_lock->names().array.empty();
  }
  auto file = tree_.opened(node);
  const SourceEntry entry = tree_.entry(node);
  const bool fits = has_links || (entry.shown == ShownAs::array) == can_be_array;
  if (entry.is_bloscpack || (!file && fits)) return;
  file = open_for_writing(node, std::move(home));
  file->content->look_again();
  if (file->content->needs_commit()) changed(file);
}

void FileContents::removed(NodeId node) {
  const auto file = tree_.opened(node);
  if (!file || !file->content) return;
  file->content->orphan();
  if (!file->content->has_writers()) committer_.drop(*file->content);
}

void FileContents::resize(NodeId node, std::shared_ptr<ContentHome> home, std::int64_t size) {
  const auto file = open_for_writing(node, std::move(home));
  file->content->resize(size);
  changed(file);
}

bool FileContents::set_times(NodeId node, std::shared_ptr<ContentHome> home,
                             const timespec& accessed, const timespec& modified) {
  const auto file = tree_.opened(node);
  if (!file || !file->content) return false;
  try {
    // Readers would take new times for a change by somebody else. Those of a removed file are in
    // its content alone.
    if (!file->content->is_orphan()) file->content->make_writable(std::move(home));
  } catch (const std::system_error&) {
    return false;
  }
  return file->content->set_times(accessed, modified);
}

void FileContents::set_vlmetalayer(NodeId node, std::shared_ptr<ContentHome> home,
                                   const std::string& name,
                                   const std::optional<std::string>& content, int flags) {
  const auto file = open_for_writing(node, std::move(home));
  const bool exists = has_vlmetalayer(*file->content, name);
  if ((flags & XATTR_CREATE) != 0 && exists) fail(EEXIST, name);
  if (((flags & XATTR_REPLACE) != 0 || !content) && !exists) fail(ENODATA, name);
  std::optional<std::vector<std::uint8_t>> value;
  if (content) value.emplace(content->begin(), content->end());
  file->content->set_vlmetalayer(name, std::move(value));
  changed(file);
}

void FileContents::store_bytes_as_frame(NodeId, std::shared_ptr<ContentHome> home) {
  const auto name_lock = home->lock_name();
  const StoredPlace& place = name_lock->place();
  if (place.is_unlinked || place.has_links || name_lock->names().flat.empty()) return;
  const auto source = place.directory->open_source(place.name);
  if (!source) return;
  const std::string stored_as = store_as_frame(*source, place.directory, place.name, services_);
  name_lock->settle(stored_as, name_lock->names().flat);
}

}  // namespace bloscfs::fs
