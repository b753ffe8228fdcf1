#include "fs/source/local/names/leftover_sweep.hpp"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "frame/open/open.hpp"
#include "frame/sframe/orphans.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/sframe_names.hpp"
#include "fs/source/local/files/directory_times.hpp"
#include "fs/source/local/files/lock_file.hpp"
#include "fs/source/local/files/mount_lock.hpp"
#include "fs/source/naming.hpp"
#include "fs/support/log.hpp"
#include "fs/support/timestamps.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

/// Most files that are removed before the lock on names is released.
constexpr std::size_t kOrphansAtOnce = 64;

}  // namespace

LeftoverSweep::LeftoverSweep(const SourceRoot& root, Tree& tree,
                             const std::optional<std::string>& single, Journal* journal)
    : root_(root), tree_(tree), single_(single), journal_(journal) {
  // The kernel takes the times of files from this clock, and is_old() compares them.
  ::clock_gettime(CLOCK_REALTIME_COARSE, &began_);
  thread_ = std::thread([this] { run(); });
}

LeftoverSweep::~LeftoverSweep() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

bool LeftoverSweep::is_old(const struct stat& st) const {
  return nanoseconds(st.st_ctim) < nanoseconds(began_);
}

void LeftoverSweep::run() {
  if (journal_ != nullptr) makers_ = journal_->makers();
  const TemporaryMakers own = makers_;
  try {
    // In a mount of one container, the mount's temporaries are next to the container. The other
    // files in that directory do not belong to the mount.
    if (single_ && journal_ != nullptr) clear_temporaries({}, root_.list({}), journal_->kept());
    walk(single_.value_or(""));
    if (removed_ > 0)
      log::info(fmt::format("removed {} temporary {} of mounts that ended suddenly", removed_,
                            removed_ == 1 ? "file" : "files"));
    if (journal_ == nullptr || has_missed_ || stopping_) return;
    // Only after a complete walk: if a maker is forgotten too early, its temporaries stay for ever.
    for (const auto& maker : own) journal_->forget(maker);
  } catch (const std::exception& error) {
    log::warn(fmt::format(
        "cannot remove temporary files of earlier mounts: {}; correct this and mount again",
        error.what()));
  }
}

void LeftoverSweep::walk(const std::string& top) {
  std::vector<std::string> paths{top};
  while (!paths.empty() && !stopping_) {
    const std::string path = std::move(paths.back());
    paths.pop_back();
    try {
      visit(path, paths);
    } catch (const std::system_error& error) {
      // ENOENT and EACCES do not count as missed: the directory is gone, or the daemon may not read
      // it and so cannot have written to it.
      has_missed_ |= error.code() != std::errc::no_such_file_or_directory &&
                     error.code() != std::errc::permission_denied;
    } catch (const std::exception&) {
      has_missed_ = true;
    }
  }
}

void LeftoverSweep::visit(const std::string& path, std::vector<std::string>& below) {
  if (const auto st = root_.stat(path.empty() ? "." : path); !st || !S_ISDIR(st->st_mode)) return;
  const Entries entries = root_.list(path);
  const std::vector<KeptFile> kept = read_journals(path, entries);
  bool is_sframe = false, has_temporaries = false;
  for (const SourceRoot::Entry& entry : entries) {
    is_sframe |= entry.name == frame::kSframeIndexName;
    has_temporaries |= is_leftover_name(entry.name);
    if (entry.type == DT_DIR || entry.type == DT_UNKNOWN)
      below.push_back(join_path(path, entry.name));
  }
  if (!has_temporaries && !is_sframe) return;
  const NearPath near = root_.approach(path);
  if (path != single_.value_or("") &&  // the top, which this mount itself has locked
      is_locked_by_other(frame::descriptor_path(near.directory()) + "/" + near.rest)) {
    has_missed_ = true;
    return;
  }
  clear_temporaries(path, entries, kept);
  if (is_sframe) remove_orphans(path, entries);
}

/// Reads the journals in a directory: this mount's, and those of other SOURCEs whose lock is free,
/// which shows that they are not mounted for writing now. Returns the kept files that the journals
/// name. Adds the makers that they name to `makers_`.
std::vector<KeptFile> LeftoverSweep::read_journals(const std::string& path,
                                                   const Entries& entries) {
  std::vector<KeptFile> kept;
  for (const SourceRoot::Entry& entry : entries) {
    if (!is_lock_file(entry.name)) continue;
    const bool is_own = !single_ && path.empty() && entry.name == lock_file_name(std::nullopt);
    if (is_own && journal_ != nullptr) {
      for (KeptFile& file : journal_->kept()) kept.push_back(std::move(file));
      continue;
    }
    LockFile lock(root_.directory(path), entry.name);
    if (!lock.try_take_present()) continue;
    const Journal journal(lock.descriptor());
    for (const auto& maker : journal.makers()) makers_.push_back(maker);
    for (KeptFile& file : journal.kept()) kept.push_back(std::move(file));
  }
  return kept;
}

/// Removes the leftovers in a directory, except the `kept` ones. Those hold contents that an
/// earlier mount could not commit, and `b2frame recover` gives them names.
void LeftoverSweep::clear_temporaries(const std::string& path, const Entries& entries,
                                      const std::vector<KeptFile>& kept) {
  for (const SourceRoot::Entry& entry : entries) {
    if (!is_leftover_name(entry.name)) continue;
    const auto spared = std::find_if(kept.begin(), kept.end(), [&](const KeptFile& file) {
      return file.temporary == entry.name;
    });
    if (spared == kept.end())
      remove_temporary(path, entry.name);
    else
      log::warn(
          fmt::format("{}: an earlier mount could not commit its changes; unmount, and run: "
                      "b2frame recover SOURCE",
                      join_path(path, spared->path)));
  }
}

void LeftoverSweep::remove_temporary(const std::string& path, const std::string& name) {
  NamesWork work(request_);
  TreeChanges names(work, tree_, ChangedBy::daemon);
  const SourceDirectory directory = root_.directory(path);
  const auto st = directory.stat(name);
  // A temporary that the tree knows belongs to this mount, which stores a pending file in it.
  if (!st || names.is_known(*st)) return;
  const auto leftover = made_by(makers_, directory, name, *st);
  if (!leftover) return;
  ++removed_;
  // A directory may hold millions of files, so it is removed after the lock on names is released.
  if (leftover->directory)
    return names.at_end(0, remove_on_release(leftover->directory, name, directory.path_of(name)));
  const DirectoryTimes times(request_, root_.object(path));
  try {
    directory.remove_file(names.change(), name);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
  }
}

/// Removes chunk files of a commit that was never completed. Skips a frame that has changed since
/// the sweep began: its writer may need those chunk files.
void LeftoverSweep::remove_orphans(const std::string& path, const Entries& entries) {
  std::vector<std::uint32_t> numbers;
  for (const SourceRoot::Entry& entry : entries)
    if (const auto number = frame::chunk_file_number(entry.name)) numbers.push_back(*number);
  const SourceDirectory directory = root_.directory(path);
  const auto before = directory.stat(frame::kSframeIndexName);
  // If the index is not old, this mount or another program has just committed. Its next commit may
  // name chunk files that the index does not name yet.
  if (!before || !is_old(*before)) return;
  const auto snapshot = frame::open_directory(root_.open(path, O_RDONLY | O_DIRECTORY), {});
  if (!snapshot || std::ssize(numbers) <= snapshot->info().nchunks) return;
  const auto orphans = frame::orphan_chunk_files(*snapshot, std::move(numbers), thread_decoder());
  for (std::size_t done = 0; done < orphans.size(); done += kOrphansAtOnce) {
    // Releases the lock after every few files, and looks at the index again. So no operation waits
    // for the whole frame, and no writer loses a file.
    NamesWork work(request_);
    const TreeChanges names(work, tree_, ChangedBy::daemon);
    const auto now = directory.stat(frame::kSframeIndexName);
    if (!now || !is_old(*now)) return;
    const DirectoryTimes times(request_, root_.object(path));
    const std::span left = std::span(orphans).subspan(done);
    for (const std::uint32_t number : left.first(std::min(left.size(), kOrphansAtOnce))) {
      const std::string name = frame::chunk_file_name(number);
      if (const auto st = directory.stat(name); st && is_old(*st)) {
        directory.remove_file(names.change(), name);
        ++removed_;
      }
    }
  }
}

}  // namespace bloscfs::fs
