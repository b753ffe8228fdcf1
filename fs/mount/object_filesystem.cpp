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
#include "fs/view/attributes.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// Bytes that may be decoded ahead at once, as a part of the budget.
constexpr std::size_t kReadaheadPart = 16;
constexpr std::int64_t kMostReadahead = std::int64_t{16} << 20;

}  // namespace

ObjectFilesystem::ObjectFilesystem(std::shared_ptr<frame::ObjectTree> tree,
                                   const MountOptions& options, std::size_t workers,
                                   PagePool& pages)
    : cache_(options.cache_size, pages, stats_),
      objects_(std::move(tree), {options.raw, options.stores, options.remote.revalidate},
               options.owner, cache_.budget()),
      directories_(cache_.budget(),
                   [this](NodeId node, const std::function<void()>& if_many) {
                     return objects_.list(node, if_many);
                   }),
      write_options_(options.write),
      budget_(0, stats_, [](bool) {}),
      readahead_budget_(
          std::min(static_cast<std::int64_t>(options.cache_size / kReadaheadPart), kMostReadahead)),
      last_release_(std::chrono::steady_clock::now().time_since_epoch().count()),
      pool_(workers),
      content_services_{cache_,      stats_,          {options.verify, Work::kRequestLimit},
                        pool_,       budget_,         write_options_,
                        options.raw, next_content_id_},
      reading_services_{stats_, pool_, readahead_budget_, log_, direct_handles_, pages} {
  objects_.require_shown();
}

void ObjectFilesystem::check_access(NodeId, int mask) {
  if ((mask & W_OK) != 0) throw_errno(EROFS, "access");
}

struct statvfs ObjectFilesystem::stat_filesystem() {
  struct statvfs st {};
  st.f_bsize = st.f_frsize = 4096;
  st.f_namemax = NAME_MAX;
  return st;
}

std::vector<std::string> ObjectFilesystem::attribute_names(NodeId node) {
  return names_of_attributes(objects_.frame_of(node).get());
}

std::string ObjectFilesystem::attribute(NodeId node, const std::string& name) {
  if (node == kRootId && name == kStatsAttribute) return to_json(stats_);
  if (!is_in_shown_space(name)) throw_errno(EOPNOTSUPP, name);
  const auto value = objects_.attribute(node, name);
  if (!value) throw_errno(ENODATA, name);
  return *value;
}

MountedFiles::Opened ObjectFilesystem::open(NodeId node, int flags, FairShare::Part) {
  if ((flags & O_ACCMODE) != O_RDONLY) throw_errno(EROFS, "open");
  Objects::Opened opened = objects_.open(node, content_services_);
  std::string told = objects_.told_path(node);
  std::shared_ptr<FileHandle> handle;
  if (opened.container)
    handle = std::make_shared<FixedContentHandle>(reading_services_, node, flags,
                                                  std::move(opened.container), std::move(told));
  else
    handle = std::make_shared<ObjectHandle>(reading_services_, node, flags, opened.attributes,
                                            std::move(opened.object), std::move(told));
  const std::uint64_t number = handles_.add(handle);
  if (handle->is_direct()) direct_handles_++;
  return {number, false, false};
}

std::shared_ptr<FileHandle> ObjectFilesystem::handle(std::uint64_t number) const {
  auto found = handles_.find(number);
  if (!found) throw_errno(EBADF, "file handle");
  return found;
}

void ObjectFilesystem::release(std::uint64_t number) {
  const auto closed = handle(number);
  handles_.remove(number);
  if (closed->is_direct()) direct_handles_--;
  closed->close();
  last_release_ = std::chrono::steady_clock::now().time_since_epoch().count();
}

std::chrono::steady_clock::duration ObjectFilesystem::idle_time() const {
  using Steady = std::chrono::steady_clock;
  if (handles_.size() != 0) return Steady::duration::zero();
  return Steady::now().time_since_epoch() - Steady::duration(last_release_.load());
}

void ObjectFilesystem::rest() {
  cache_.rest();
}

}  // namespace bloscfs::fs
