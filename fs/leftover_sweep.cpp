#include "fs/leftover_sweep.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "frame/local_store.hpp"
#include "frame/open.hpp"
#include "frame/orphans.hpp"
#include "frame/sframe_format.hpp"
#include "fs/directory_times.hpp"
#include "fs/frame_reader.hpp"
#include "fs/kept_files.hpp"
#include "fs/log.hpp"
#include "fs/mount_lock.hpp"
#include "fs/removal.hpp"
#include "fs/timestamps.hpp"

namespace bloscfs::fs {
namespace {

/// True if a mount of a directory above can have files in this one.
bool is_below_another_mount(const SourceRoot& root, bool is_single) {
  std::error_code error;
  auto path =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(root.descriptor()), error);
  if (error) return true;
  if (is_single && is_locked_by_other(path)) return true;
  while (path.has_relative_path()) {
    path = path.parent_path();
    if (is_locked_by_other(path)) return true;
  }
  return false;
}

}  // namespace

LeftoverSweep::LeftoverSweep(const SourceRoot& root, Tree& tree,
                             const std::optional<std::string>& single)
    : root_(root), tree_(tree), first_(single.value_or("")) {
  // By the clock that gives files their times.
  ::clock_gettime(CLOCK_REALTIME_COARSE, &began_);
  thread_ = std::thread([this, single] {
    if (!is_below_another_mount(root_, single.has_value())) walk({first_});
  });
}

LeftoverSweep::~LeftoverSweep() {
  stopping_ = true;
  thread_.join();
}

bool LeftoverSweep::is_old(const struct stat& st) const {
  return nanoseconds(st.st_ctim) < nanoseconds(began_);
}

void LeftoverSweep::walk(std::vector<std::string> directories) {
  while (!directories.empty() && !stopping_) {
    const std::string path = std::move(directories.back());
    directories.pop_back();
    try {
      if (const auto st = root_.stat(path.empty() ? "." : path); !st || !S_ISDIR(st->st_mode))
        continue;
      const Entries entries = root_.list(path);
      clear(path, entries);
      for (const SourceRoot::Entry& entry : entries)
        if (entry.type == DT_DIR || entry.type == DT_UNKNOWN)
          directories.push_back(join_path(path, entry.name));
    } catch (const std::exception&) {
      // It is gone, or not ours to read.
    }
  }
}

void LeftoverSweep::clear(const std::string& path, const Entries& entries) {
  bool is_sframe = false;
  std::vector<std::string> temporaries, journals;
  for (const SourceRoot::Entry& entry : entries) {
    is_sframe |= entry.name == kSframeIndex;
    if (is_leftover_name(entry.name)) temporaries.push_back(entry.name);
    if (is_lock_file(entry.name)) journals.push_back(entry.name);
  }
  if (!journals.empty()) spare_kept(path, journals, temporaries);
  if (temporaries.empty() && !is_sframe) return;
  const NearPath near = root_.approach(path);
  if (path != first_ &&
      is_locked_by_other(fmt::format("/proc/self/fd/{}/{}", near.directory, near.rest)))
    return;
  for (const std::string& name : temporaries) remove_temporary(path, name);
  if (is_sframe) remove_orphans(path, entries);
}

/// What an earlier mount could not commit waits for somebody who gives it a name.
void LeftoverSweep::spare_kept(const std::string& path, const std::vector<std::string>& journals,
                               std::vector<std::string>& temporaries) const {
  const auto directory = frame::make_local_store(root_.open(path, O_RDONLY | O_DIRECTORY), nullptr);
  for (const KeptFile& kept : kept_files_in(directory, journals)) {
    if (std::erase(temporaries, kept.temporary) == 0) continue;
    log::warn(fmt::format(
        "{}: an earlier mount could not commit what was written to it: `b2frame recover "
        "SOURCE` gives that a name",
        join_path(path, kept.path)));
  }
}

void LeftoverSweep::remove_temporary(const std::string& path, const std::string& name) {
  const TreeChanges names(tree_);
  const SourceDirectory directory = root_.directory(path);
  const auto st = directory.stat(name);
  if (!st || !is_old(*st) || names.is_known(*st)) return;
  log::info(fmt::format("{}: removing what an earlier mount left behind", join_path(path, name)));
  const DirectoryTimes times(root_.object(path));
  remove_leftover(directory, name, *st);
}

/// Chunk files of a commit that was never completed. A frame that has been changed since has a
/// writer, who knows better.
void LeftoverSweep::remove_orphans(const std::string& path, const Entries& entries) {
  std::vector<std::uint32_t> numbers;
  for (const SourceRoot::Entry& entry : entries)
    if (const auto number = frame::chunk_file_number(entry.name)) numbers.push_back(*number);
  const SourceDirectory directory = root_.directory(path);
  const auto before = directory.stat(kSframeIndex);
  if (!before || !is_old(*before)) return;
  const auto snapshot = frame::open_directory(root_.open(path, O_RDONLY | O_DIRECTORY), {});
  if (!snapshot || std::ssize(numbers) <= snapshot->info().nchunks) return;
  const auto orphans = frame::orphan_chunk_files(*snapshot, std::move(numbers), thread_decoder());
  const TreeChanges names(tree_);
  const auto now = directory.stat(kSframeIndex);
  if (!now || !is_old(*now)) return;
  const DirectoryTimes times(root_.object(path));
  for (const std::uint32_t number : orphans) {
    const std::string name = frame::chunk_file_name(number);
    if (const auto st = directory.stat(name); st && is_old(*st)) directory.remove_file(name);
  }
}

}  // namespace bloscfs::fs
