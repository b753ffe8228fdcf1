#include "fs/classifier.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/open_regular.hpp"
#include "fs/log.hpp"

namespace bloscfs::fs {
namespace {

/// Verdicts kept.
constexpr std::size_t kMaxVerdicts = 100'000;

}  // namespace

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

Classifier::Classifier(const SourceRoot& root, bool raw, frame::SourceCounters* counters)
    : root_(root), raw_(raw), counters_(counters), verdicts_(kMaxVerdicts) {}

std::unique_ptr<frame::Snapshot> Classifier::open(const std::string& path, bool is_sframe) const {
  frame::OpenSettings settings;
  settings.counters = counters_;
  settings.name = path;
  settings.directory = root_.descriptor();
  return open_with(settings, path, is_sframe);
}

std::unique_ptr<frame::Snapshot> Classifier::open_with(const frame::OpenSettings& settings,
                                                       const std::string& path,
                                                       bool is_sframe) const {
  if (is_sframe) return frame::open_directory(root_.open(path, O_RDONLY | O_DIRECTORY), settings);
  frame::UniqueFd fd = frame::open_if_regular(root_.open(path, O_PATH), O_RDONLY);
  if (!fd) throw std::system_error(ESTALE, std::generic_category(), path);
  return frame::open_file(std::move(fd), settings);
}

bool Classifier::is_container(const SourceObject& file) const {
  try {
    const auto snapshot = frame::open_file(file.open_quietly(O_RDONLY), {});
    return snapshot && shape_of(*snapshot).file_size() >= 0;
  } catch (const codec::Error&) {
    return false;
  }
}

ViewShape Classifier::shape_of(const frame::Snapshot& snapshot) const {
  return view_shape(snapshot.info(), raw_);
}

std::optional<struct stat> Classifier::stat_index(const std::string& directory) const {
  try {
    return root_.stat(join_path(directory, kSframeIndex));
  } catch (const std::system_error&) {
    return std::nullopt;  // a directory that may not be searched is shown as one
  }
}

std::optional<SourceEntry> Classifier::look(const std::string& path) {
  return look(path, Trust::same_state);
}

std::optional<SourceEntry> Classifier::look_at_own(const std::string& path) {
  return look(path, Trust::any_state);
}

std::optional<SourceEntry> Classifier::look(const std::string& path, Trust trust) {
  const auto st = root_.stat(path);
  if (!st) return std::nullopt;
  SourceEntry entry;
  entry.entry = *st;
  entry.source = *st;
  if (S_ISDIR(st->st_mode)) {
    const auto index = stat_index(path);
    if (!index || !S_ISREG(index->st_mode)) return entry;
    entry.is_sframe = true;
    entry.source = *index;
  } else if (!S_ISREG(st->st_mode)) {
    return entry;
  }
  look_inside(path, entry, trust);
  return entry;
}

void Classifier::look_inside(const std::string& path, SourceEntry& entry, Trust trust) {
  auto verdict = recall(entry, trust);
  if (!verdict) {
    verdict = judge(path, entry);
    const MutexLock lock(mutex_);
    verdicts_.remember(*verdict);
  }
  entry.shown = verdict->shown;
  entry.is_container = verdict->is_container;
  entry.is_bloscpack = verdict->is_bloscpack;
  entry.shown_size = verdict->shown_size;
  entry.stored_size = verdict->stored_size;
  if (entry.is_container) return;
  entry.is_sframe = false;
  entry.source = entry.entry;
}

Verdict Classifier::judge(const std::string& path, const SourceEntry& entry) {
  Verdict verdict{};
  verdict.device = entry.source.st_dev;
  verdict.inode = entry.source.st_ino;
  verdict.is_sframe = entry.is_sframe;
  verdict.size = entry.source.st_size;
  verdict.mtime_ns = nanoseconds(entry.source.st_mtim);
  verdict.ctime_ns = nanoseconds(entry.source.st_ctim);
  try {
    // Without a look for lock sidecars: what a writer leaves torn is judged again when it is done.
    frame::OpenSettings settings;
    settings.counters = counters_;
    const auto snapshot = open_with(settings, path, entry.is_sframe);
    if (!snapshot) return verdict;
    const ViewShape shape = shape_of(*snapshot);
    verdict.is_container = true;
    verdict.is_bloscpack = snapshot->info().kind == frame::ContainerKind::bloscpack;
    verdict.shown = shape.is_array ? ShownAs::array : ShownAs::flat;
    verdict.shown_size = shape.file_size();
    verdict.stored_size = snapshot->info().cbytes + entry.source.st_size;
  } catch (const codec::Error& error) {
    log::warn(fmt::format("{}: shown as it is: {}", path, error.what()));
  } catch (const std::system_error&) {
    // Unreadable files keep their full names; opening them tells the reader why.
  }
  return verdict;
}

std::optional<Verdict> Classifier::recall(const SourceEntry& entry, Trust trust) const {
  const struct stat& source = entry.source;
  const MutexLock lock(mutex_);
  const Verdict* const found = verdicts_.find(source.st_dev, source.st_ino, entry.is_sframe);
  if (found == nullptr) return std::nullopt;
  const Verdict& verdict = *found;
  if (trust == Trust::any_state && verdict.is_container) return verdict;
  if (verdict.size != source.st_size || verdict.mtime_ns != nanoseconds(source.st_mtim) ||
      verdict.ctime_ns != nanoseconds(source.st_ctim))
    return std::nullopt;
  return verdict;
}

}  // namespace bloscfs::fs
