#include "fs/filesystem.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/xattr.h>

#include "codec/error.hpp"
#include "frame/open_regular.hpp"
#include "fs/attributes.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::string_view kStatsAttribute = "user.bloscfs.stats";
constexpr std::string_view kBloscPrefix = "user.blosc2.";
constexpr std::size_t kMaxLogged = 10'000;

[[noreturn]] void throw_errno(int error, const std::string& context) {
  throw std::system_error(error, std::generic_category(), context);
}

/// The caller names the path in its message.
[[noreturn]] void throw_errno() { throw std::system_error(errno, std::generic_category()); }

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr),
                                                        std::free);
  if (!resolved) throw_errno();
  return resolved.get();
}

frame::UniqueFd open_directory_path(const std::string& path) {
  frame::UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) throw_errno();
  return fd;
}

/// Bytes that may be decoded ahead at once, as a part of the budget.
std::int64_t readahead_limit(std::size_t cache_size) {
  return static_cast<std::int64_t>(std::min(cache_size / 16, std::size_t{16} << 20));
}

/// True for attributes of the source file that are shown as they are.
bool passes_through(std::string_view name, bool is_container) {
  if (name == kStatsAttribute || (is_container && name.starts_with(kBloscPrefix))) return false;
  return name.starts_with("user.") || name.starts_with("trusted.");
}

constexpr int kStaleTries = 20;

/// Runs `work` again while the source is replaced under it: the kernel itself tries only twice.
template <typename Work>
auto retrying_stale(Work work) {
  for (int tries = 1; tries < kStaleTries; tries++) {
    try {
      return work();
    } catch (const std::system_error& error) {
      if (error.code() != std::errc(ESTALE)) throw;
    }
  }
  return work();
}

}  // namespace

MountSource open_source(const std::string& path, bool raw) {
  const std::string resolved = real_path(path);
  struct stat st {};
  if (::stat(resolved.c_str(), &st) != 0) throw_errno();
  const auto snapshot = frame::open_path(resolved, {});
  if (!snapshot) {
    if (!S_ISDIR(st.st_mode))
      throw std::invalid_argument("neither a directory nor a Blosc2 frame nor a Bloscpack file");
    return {open_directory_path(resolved), std::nullopt};
  }
  view_shape(snapshot->info(), raw);  // an array that cannot be shown is refused now
  const std::size_t slash = resolved.rfind('/');
  return {open_directory_path(resolved.substr(0, slash + 1)), resolved.substr(slash + 1)};
}

Filesystem::Filesystem(MountSource source, const MountOptions& options, std::size_t workers)
    : root_(std::move(source.root)),
      reader_settings_{options.verify, Work::kRequestLimit},
      cache_(options.cache_size, stats_),
      classifier_(root_, options.raw, &stats_.source),
      tree_(root_, classifier_, std::move(source.single), options.owner),
      readahead_budget_(readahead_limit(options.cache_size)),
      last_release_(std::chrono::steady_clock::now().time_since_epoch().count()),
      pool_(workers) {}

std::shared_ptr<const OpenFile> Filesystem::make_open_file(NodeId node, const SourceEntry& entry) {
  const std::string path = tree_.path(node);
  auto file = std::make_shared<OpenFile>();
  file->attributes = tree_.attributes(node);
  if (!entry.is_container) {
    file->plain = frame::open_if_regular(root_.open(path, O_PATH), O_RDONLY);
    if (!file->plain) throw_errno(ESTALE, path);
    return file;
  }
  std::shared_ptr<const frame::Snapshot> snapshot = classifier_.open(path, entry.is_sframe);
  if (!snapshot || !(snapshot->stamp() == frame::stamp_of(entry.source))) throw_errno(ESTALE, path);
  ViewShape shape = classifier_.shape_of(*snapshot);
  file->view = std::make_unique<const FileView>(
      std::move(shape), FrameReader(std::move(snapshot), node, cache_, stats_, reader_settings_));
  return file;
}

Filesystem::Opened Filesystem::open(NodeId node, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY) throw_errno(EROFS, "open");
  return retrying_stale([&]() -> Opened {
    // Checked even if a handle is open: that may be of an older state.
    const SourceEntry entry = tree_.entry(node);
    auto handle = std::make_shared<FileHandle>();
    handle->node = node;
    handle->direct = (flags & O_DIRECT) != 0;
    handle->file = tree_.opened(node);
    if (!handle->file) {
      handle->file = make_open_file(node, entry);
      tree_.set_opened(node, handle->file);
    }
    const bool changed = !entry.is_container && tree_.take_change(node, entry);
    return {handles_.add(std::move(handle)), changed};
  });
}

std::shared_ptr<Filesystem::FileHandle> Filesystem::handle(std::uint64_t number) const {
  auto found = handles_.find(number);
  if (!found) throw_errno(EBADF, "file handle");
  return found;
}

void Filesystem::release(std::uint64_t number) {
  handles_.remove(number);
  last_release_ = std::chrono::steady_clock::now().time_since_epoch().count();
}

struct stat Filesystem::handle_attributes(std::uint64_t number) {
  const auto open = handle(number);
  if (open->file->plain) {
    struct stat st {};
    if (::fstat(open->file->plain.get(), &st) != 0) throw_errno(errno, "fstat");
    return tree_.owned(st);
  }
  try {
    return tree_.attributes(open->node);
  } catch (const std::system_error&) {
    return open->file->attributes;
  }
}

std::chrono::steady_clock::duration Filesystem::idle_time() const {
  using Clock = std::chrono::steady_clock;
  if (handles_.size() != 0) return Clock::duration::zero();
  return Clock::now().time_since_epoch() - Clock::duration(last_release_.load());
}

std::uint64_t Filesystem::open_directory(NodeId node) {
  auto handle = std::make_shared<DirectoryHandle>();
  handle->entries = tree_.list(node);
  return directories_.add(std::move(handle));
}

std::shared_ptr<Filesystem::DirectoryHandle> Filesystem::directory_handle(
    std::uint64_t number) const {
  auto found = directories_.find(number);
  if (!found) throw_errno(EBADF, "directory handle");
  return found;
}

void Filesystem::read(FileHandle& handle, std::int64_t offset, std::int64_t size, ReplyData& out) {
  const FileView& view = *handle.file->view;
  handle.readahead.on_read(offset, size, handle.file, pool_, readahead_budget_);
  try {
    view.read(offset, size, out);
  } catch (const std::exception& error) {
    stats_.io_errors++;
    log_bad_data(handle.node, error);
    // A direct reader may be given what precedes the bad place; through the page cache the kernel
    // would take a short reply for the end of the file.
    if (!handle.direct || out.size() == 0) throw;
  }
}

void Filesystem::log_bad_data(NodeId node, const std::exception& error) {
  const std::string path = tree_.path(node);
  const MutexLock lock(log_mutex_);
  if (logged_.size() >= kMaxLogged || !logged_.insert(path + ": " + error.what()).second) return;
  spdlog::error("{}: {}", path, error.what());
}

std::shared_ptr<const OpenFile> Filesystem::container(NodeId node) {
  return retrying_stale([&]() -> std::shared_ptr<const OpenFile> {
    const SourceEntry entry = tree_.entry(node);
    if (auto file = tree_.opened(node)) return file;
    return make_open_file(node, entry);
  });
}

std::string Filesystem::source_file(NodeId node, const SourceEntry& entry) const {
  const std::string path = tree_.path(node);
  return entry.is_sframe ? join_path(path, kSframeIndex) : path;
}

std::vector<std::string> Filesystem::list_attributes(NodeId node) {
  std::vector<std::string> names;
  if (node == kRootId) names.emplace_back(kStatsAttribute);
  if (tree_.is_virtual(node)) return names;
  const SourceEntry entry = tree_.entry(node);
  if (entry.is_container)
    for (std::string& name : fs::list_attributes(container(node)->view->reader().snapshot()))
      names.push_back(std::move(name));
  for (std::string& name : root_.attribute_names(source_file(node, entry)))
    if (passes_through(name, entry.is_container)) names.push_back(std::move(name));
  return names;
}

std::string Filesystem::read_attribute(NodeId node, const std::string& name) {
  if (node == kRootId && name == kStatsAttribute) return to_json(stats_);
  if (!name.starts_with("user.") && !name.starts_with("trusted.")) throw_errno(EOPNOTSUPP, name);
  if (tree_.is_virtual(node)) throw_errno(ENODATA, name);
  const SourceEntry entry = tree_.entry(node);
  if (passes_through(name, entry.is_container))
    return root_.attribute(source_file(node, entry), name);
  if (!entry.is_container) throw_errno(ENODATA, name);
  const auto value =
      fs::read_attribute(container(node)->view->reader().snapshot(), name, thread_decoder());
  if (!value) throw_errno(ENODATA, name);
  return std::string(value->begin(), value->end());
}

}  // namespace bloscfs::fs
