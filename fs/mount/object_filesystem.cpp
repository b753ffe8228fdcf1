#include "fs/mount/object_filesystem.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/mount/fixed_content_handle.hpp"
#include "fs/mount/object_handle.hpp"
#include "fs/stores/store_attributes.hpp"
#include "fs/support/turns.hpp"
#include "fs/view/attributes.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// Bytes that may be decoded ahead at once, as a part of the budget.
constexpr std::size_t kReadaheadPart = 16;
constexpr std::int64_t kMostReadahead = std::int64_t{16} << 20;
/// For so long chunks stay that no index names any more.
constexpr std::chrono::minutes kReadersHave{10};
/// Each chunk is an object.
constexpr std::int32_t kChunkSize = std::int32_t{4} << 20;

/// Bytes of chunks that may be on their way to the store, as a part of the budget, and of the
/// connections: readers need the rest.
constexpr std::size_t kUploadPart = 8, kMostUploads = std::size_t{32} << 20;

frame::UploadSettings uploads_of(const MountOptions& options, MemoryBudget& budget) {
  frame::UploadSettings uploads;
  uploads.at_once = std::max(1U, options.remote.connections * 3 / 4);
  uploads.bytes = std::min(options.cache_size / kUploadPart, kMostUploads);
  uploads.take_memory = [&budget](std::size_t bytes) {
    return std::make_shared<MemoryBudget::Part>(budget, bytes);
  };
  return uploads;
}

WriteOptions written_as(WriteOptions options) {
  if (options.chunk_size == 0) options.chunk_size = kChunkSize;
  return options;
}

}  // namespace

ObjectFilesystem::ObjectFilesystem(const std::shared_ptr<frame::ObjectTree>& tree,
                                   const MountOptions& options, std::size_t workers,
                                   PagePool& pages, const frame::Clock& clock)
    : clock_(clock),
      tree_(tree),
      writable_(tree->is_writable() && !options.read_only),
      cache_(options.cache_size, pages, stats_),
      later_(tree, kReadersHave, clock),
      objects_(
          tree, {options.raw, options.stores, options.remote.revalidate}, options.owner,
          cache_.budget(), [this](const std::string& path) { later_.add(path); },
          uploads_of(options, cache_.budget()), clock),
      directories_(cache_.budget(),
                   [this](NodeId node, const std::function<void()>& if_many) {
                     return objects_.list(node, if_many);
                   }),
      write_options_(written_as(options.write)),
      budget_(
          dirty_limit(options), stats_, [this](bool all) { committer_.press(all); }, clock),
      readahead_budget_(
          std::min(static_cast<std::int64_t>(options.cache_size / kReadaheadPart), kMostReadahead),
          clock),
      last_release_(clock.now()),
      pool_(workers),
      committer_(stats_, clock),
      content_services_{cache_,      stats_,           {options.verify, Work::kRequestLimit},
                        pool_,       budget_,          write_options_,
                        options.raw, next_content_id_, std::make_shared<frame::RecentWriters>(),
                        clock},
      reading_services_{stats_, pool_, readahead_budget_, log_, direct_handles_, pages},
      contents_(objects_, committer_, log_, content_services_, options.remote.disk_cache),
      container_services_{contents_, committer_, reading_services_} {
  objects_.require_shown();
  committer_.set_commits_at_close(options.write.strict);
  committer_.set_longest_wait(options.write.longest_wait);
  if (!writable_) return;
  Committer::Services services;
  services.ended = [this](uid_t user, const std::error_code& error) {
    budget_.commit_ended(user, error);
  };
  services.follow = [this](const std::shared_ptr<Content>& content, IfBeingWritten) {
    return contents_.follow(content);
  };
  // Each is stored by a request of its own: there is no flush to share.
  services.batch = 1;
  committer_.start(std::move(services));
}

void ObjectFilesystem::change_options(const MountOptions& options) {
  if (options.cache_size > cache_.budget().capacity()) cache_.grow(options.cache_size);
  budget_.set_limit(dirty_limit(options));
  committer_.set_commits_at_close(options.write.strict);
  committer_.set_longest_wait(options.write.longest_wait);
}

void ObjectFilesystem::check_access(NodeId, int mask) {
  if ((mask & W_OK) != 0) require_writable("access");
}

struct statvfs ObjectFilesystem::stat_filesystem() {
  struct statvfs st {};
  st.f_bsize = st.f_frsize = 4096;
  st.f_namemax = NAME_MAX;
  return st;
}

std::vector<std::string> ObjectFilesystem::attribute_names(NodeId node) {
  const auto file = objects_.opened(node);
  if (!file || !file->content->is_writable())
    return names_of_attributes(objects_.frame_of(node).get());
  // Before what is committed: a commit that ends in between is seen twice rather than not at all.
  const LayerChanges changes = file->content->uncommitted_metalayers();
  const auto frame = objects_.frame_of(node);
  if (!frame) return list_attributes(nullptr, changes);
  const FrameAttributes found = look_at_attributes(*frame, thread_decoder());
  return list_attributes(&found, changes);
}

/// Of what is open for writing: as it is going to be.
std::optional<std::string> ObjectFilesystem::written_attribute(const Content& content,
                                                               const std::string& name) const {
  if (const auto layer = layer_of(name)) {
    const LayerChanges changes = content.uncommitted_metalayers();
    const auto change = changes.find(*layer);
    if (change == changes.end()) return std::nullopt;
    if (!change->second) throw_errno(ENODATA, name);
    const std::vector<std::uint8_t>& bytes = *change->second;
    return name.starts_with(kJsonPrefix) ? layer_as_json(bytes)
                                         : std::string(bytes.begin(), bytes.end());
  }
  if (content.snapshot() || !is_computed(name)) return std::nullopt;
  return computed_value(content.info(), name);
}

std::string ObjectFilesystem::attribute(NodeId node, const std::string& name) {
  if (node == kRootId && name == kStatsAttribute) return to_json(stats_, tree_->numbers());
  if (!is_in_shown_space(name)) throw_errno(EOPNOTSUPP, name);
  const auto file = objects_.opened(node);
  if (file && file->content->is_writable())
    if (auto written = written_attribute(*file->content, name)) return *std::move(written);
  const auto value = objects_.attribute(node, name);
  if (!value) throw_errno(ENODATA, name);
  return *value;
}

MountedFiles::Opened ObjectFilesystem::open(NodeId node, int flags, FairShare::Part) {
  std::shared_ptr<FileHandle> handle;
  if ((flags & O_ACCMODE) != O_RDONLY) {
    handle = open_for_writing(node, flags);
  } else {
    handle = open_for_reading(node, flags);
  }
  const std::uint64_t number = handles_.add(handle);
  if (handle->is_direct()) direct_handles_++;
  return {number, false};
}

std::shared_ptr<FileHandle> ObjectFilesystem::open_for_reading(NodeId node, int flags) {
  Objects::Opened opened = objects_.open(node, content_services_);
  std::string told = objects_.told_path(node);
  // One that somebody writes shows what is written.
  if (opened.container && opened.container->content->is_writable())
    return std::make_shared<ContainerHandle>(container_services_, node, flags,
                                             std::move(opened.container));
  if (opened.container)
    return std::make_shared<FixedContentHandle>(reading_services_, node, flags,
                                                std::move(opened.container), std::move(told));
  return std::make_shared<ObjectHandle>(reading_services_, node, flags, opened.attributes,
                                        std::move(opened.object), std::move(told));
}

std::shared_ptr<FileHandle> ObjectFilesystem::handle(std::uint64_t number) const {
  auto found = handles_.find(number);
  if (!found) throw_errno(EBADF, "file handle");
  return found;
}

void ObjectFilesystem::release(std::uint64_t number) {
  const auto closed = handle(number);
  closed->before_close();
  TurnAtNeed::need_no_more();
  handles_.remove(number);
  if (closed->is_direct()) direct_handles_--;
  closed->close();
  last_release_ = clock_.now();
}

frame::Clock::Duration ObjectFilesystem::idle_time() const {
  if (handles_.size() != 0) return frame::Clock::Duration::zero();
  return clock_.now() - last_release_.load();
}

void ObjectFilesystem::rest() { cache_.rest(); }

}  // namespace bloscfs::fs
