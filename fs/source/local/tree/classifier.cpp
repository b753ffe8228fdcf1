#include "fs/source/local/tree/classifier.hpp"

#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/container/missing_decoder.hpp"
#include "frame/container/snapshot.hpp"
#include "frame/editing/carrier.hpp"
#include "frame/header/sframe_format.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/refusal.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/support/lock_breaks.hpp"
#include "fs/support/log.hpp"
#include "fs/support/timestamps.hpp"
#include "fs/view/attributes.hpp"

namespace bloscfs::fs {
namespace {

using Health = SourceEntry::Health;
using Inside = SourceEntry::Inside;

/// Verdicts that are kept; of more files than this some are read again.
constexpr std::size_t kMaxVerdicts = 100'000;
/// Bytes that may be read to find out what a file is.
constexpr std::uint64_t kReadLimit = 1 << 20;
/// How often a file is read that changes meanwhile.
constexpr int kClassifyTries = 3;
const std::string kEmbedFile(frame::kEmbedName);
/// Within a tick of a coarse clock a file may change and keep its times.
constexpr std::int64_t kYoungNs = 2'000'000'000;

bool is_young(const struct stat& st) {
  return nanoseconds(now()) - nanoseconds(st.st_ctim) < kYoungNs;
}

/// The verdict that a file in this state is nothing but itself.
Verdict state_verdict(const SourceEntry& entry) {
  Verdict verdict{};
  verdict.device = entry.content_stat.st_dev;
  verdict.inode = entry.content_stat.st_ino;
  verdict.is_sframe = entry.inside == Inside::index;
  verdict.size = entry.content_stat.st_size;
  verdict.mtime_ns = nanoseconds(entry.content_stat.st_mtim);
  verdict.ctime_ns = nanoseconds(entry.content_stat.st_ctim);
  verdict.is_young = is_young(entry.content_stat);
  return verdict;
}

/// The file that makes a directory a sparse frame or a store; nothing where there is none.
std::optional<struct stat> stat_file_in(const SourceObject& directory, const std::string& name) {
  try {
    const auto st = directory.stat(name);
    return st && S_ISREG(st->st_mode) ? st : std::nullopt;
  } catch (const std::system_error& error) {
    // A directory that may not be searched is shown as one.
    if (frame::is_refusal(error.code())) return std::nullopt;
    throw;
  }
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         nanoseconds(a.st_mtim) == nanoseconds(b.st_mtim) &&
         nanoseconds(a.st_ctim) == nanoseconds(b.st_ctim);
}

bool is_same(const SourceEntry& a, const SourceEntry& b) {
  return a.inside == b.inside && is_same(a.content_stat, b.content_stat) &&
         is_same(a.own_stat, b.own_stat);
}

bool has_store_suffix(const SourcePath& path) {
  return path.text().ends_with(frame::kZipStoreSuffix) ||
         path.text().ends_with(frame::kEmbedStoreSuffix);
}

bool is_unchanged(const SourceEntry& entry) {
  std::optional<struct stat> now;
  if (entry.inside == Inside::index)
    now = entry.object->stat(frame::kSframeIndexName);
  else
    now = entry.inside == Inside::embed ? entry.object->stat(kEmbedFile) : entry.object->stat();
  return now && is_same(*now, entry.content_stat);
}

}  // namespace

bool SourceEntry::may_be_unfinished() const { return is_damaged() && is_young(content_stat); }

SourceEntry found_entry(std::shared_ptr<const SourceObject> object) {
  SourceEntry entry;
  entry.object = std::move(object);
  entry.own_stat = entry.content_stat = entry.object->stat();
  return entry;
}

Classifier::Classifier(const SourceRoot& root, const Settings& settings,
                       frame::SourceCounters* counters)
    : root_(root), settings_(settings), counters_(counters), verdicts_(kMaxVerdicts) {}

std::unique_ptr<frame::Snapshot> Classifier::open(const SourcePath& path,
                                                  const SourceEntry& entry) const {
  if (!entry.object) frame::throw_errno(ESTALE, path.text());
  frame::OpenSettings settings;
  settings.counters = counters_;
  const NearPath near = root_.approach(path);
  settings.name = near.rest;
  settings.directory = near.directory();
  return open_with(settings, entry);
}

std::unique_ptr<frame::Snapshot> Classifier::open_with(const frame::OpenSettings& settings,
                                                       const SourceEntry& entry) const {
  const SourceObject& object = *entry.object;
  if (entry.is_sframe() || entry.inside == Inside::index)
    return frame::open_directory(object.open(O_RDONLY | O_DIRECTORY), settings);
  if (entry.is_store_directory() || entry.inside == Inside::embed) {
    const frame::UniqueFd directory = object.open(O_RDONLY | O_DIRECTORY);
    auto file = frame::open_regular_at(directory.get(), kEmbedFile, O_RDONLY);
    return file ? frame::open_file(std::move(file), settings) : nullptr;
  }
  if (!S_ISREG(object.stat().st_mode)) frame::throw_errno(ESTALE, object.name());
  return frame::open_file(object.open_quietly(O_RDONLY), settings);
}

std::unique_ptr<const Archive> Classifier::open_archive(
    const SourcePath& path, const SourceEntry& entry,
    std::shared_ptr<MemoryBudget::Listing> charge) const {
  const ArchiveKind* const kind = archive_kind_of(path.text());
  if (kind == nullptr) return nullptr;
  if (!entry.object) frame::throw_errno(ESTALE, path.text());
  const ArchiveFile file{[&] {
                           return std::make_shared<frame::FileSource>(
                               entry.object->open_quietly(O_RDONLY), counters_);
                         },
                         [&] { return open(path, entry); }};
  return kind->open(file, settings_.raw, std::move(charge));
}

bool Classifier::is_container(const SourceObject& file) const {
  try {
    const auto snapshot = frame::open_file(file.open_quietly(O_RDONLY), {});
    return snapshot && !is_shown_raw(*snapshot) && shape_of(*snapshot).file_size() >= 0;
  } catch (const codec::Error&) {
    return false;
  }
}

bool Classifier::is_shown_raw(const frame::Snapshot& snapshot) const {
  return settings_.unsupported == UnsupportedFiles::raw && frame::missing_decoder(snapshot);
}

ViewShape Classifier::shape_of(const frame::Snapshot& snapshot) const {
  return view_shape(snapshot.info(), settings_.raw);
}

SourceEntry Classifier::quick_look(const SourcePath& path, SourceEntry entry, bool& is_unread) {
  try {
    if (S_ISDIR(entry.own_stat.st_mode)) {
      const auto find = [&](const std::string& name) -> std::optional<struct stat> {
        if (root_.is_known_absent(path, identity_of(entry.own_stat), name)) return std::nullopt;
        return stat_file_in(*entry.object, name);
      };
      auto file = find(frame::kSframeIndexName);
      if (file) entry.inside = Inside::index;
      if (!file && settings_.stores) file = find(kEmbedFile);
      if (!file) return entry;
      if (entry.inside == Inside::none) entry.inside = Inside::embed;
      entry.content_stat = *file;
    } else if (!S_ISREG(entry.own_stat.st_mode)) {
      return entry;
    }
  } catch (const std::system_error& error) {
    note_unreadable(path, entry, error.code());
    return entry;
  }
  if (const auto verdict = recall(path, entry))
    look_inside(path, entry, *verdict);
  else
    is_unread = true;
  return entry;
}

SourceEntry Classifier::look(const SourcePath& path, SourceEntry found) {
  bool is_unread = false;
  SourceEntry entry = quick_look(path, std::move(found), is_unread);
  if (!is_unread) return entry;
  Attempts* const attempts = Attempts::current();
  if (attempts == nullptr) return read(path, std::move(entry));
  for (const auto& judged : attempts->judged())
    if (is_same(judged->seen, entry)) {
      SourceEntry known = judged->entry;
      known.object = std::move(entry.object);
      return known;
    }
  auto judged = std::make_shared<JudgedEntry>(JudgedEntry{entry, {}});
  const auto judge = [this, path, judged] { judged->entry = read(path, judged->seen); };
  // Reading a file may take long: an operation that only shares the lock pauses for it, one that
  // has it alone begins anew with the verdict at hand. The verdict counts only for the very state
  // that it was reached in (is_same).
  if (attempts->pause(judge)) return judged->entry;
  throw LockBreak{[attempts, judged, judge] {
    if (!judged->entry.object) judge();
    attempts->judged().push_back(judged);
  }};
}

SourceEntry Classifier::read(const SourcePath& path, SourceEntry entry) {
  try {
    look_inside(path, entry, judge(path, entry));
  } catch (const std::system_error& error) {
    note_unreadable(path, entry, error.code());
  }
  return entry;
}

void Classifier::note_unreadable(const SourcePath& path, SourceEntry& entry,
                                 const std::error_code& error) {
  entry.inside = Inside::none;
  entry.content_stat = entry.own_stat;
  if (frame::is_refusal(error)) return;  // opening it tells the reader why
  entry.unreadable = error;
  if (S_ISREG(entry.own_stat.st_mode)) {
    const std::string& text = path.text();
    entry.shown = promised_by(std::string_view(text).substr(text.rfind('/') + 1));
  }
  if (entry.shown == ShownAs::array && settings_.raw) entry.shown = ShownAs::flat;
  log_.error(fmt::format("{}: cannot be looked at: {}", path.text(), error.message()));
}

void Classifier::look_inside(const SourcePath& path, SourceEntry& entry,
                             const Verdict& verdict) const {
  if (entry.inside == Inside::embed) {
    entry.has_embedded = verdict.has_store_marker && verdict.has_embedded;
    if (verdict.has_store_marker) {
      entry.kind = EntryKind::store_directory;
      entry.shown = ShownAs::store;
    }
    entry.inside = Inside::none;
    entry.content_stat = entry.own_stat;
    return;
  }
  entry.shown = verdict.shown;
  if (verdict.is_container)
    entry.kind = entry.inside == Inside::index ? EntryKind::sparse_frame : EntryKind::frame;
  entry.is_read_only = verdict.is_read_only;
  const bool is_empty = S_ISREG(entry.own_stat.st_mode) && entry.content_stat.st_size == 0;
  if (verdict.is_unsupported && settings_.unsupported == UnsupportedFiles::hidden)
    entry.health = Health::left_out;
  else if (verdict.is_damaged || is_empty)
    entry.health = Health::damaged;
  else if (verdict.is_unsupported)
    entry.health = Health::unsupported;
  entry.may_lack_contents = verdict.may_lack_contents;
  entry.has_metalayers = verdict.has_metalayers;
  entry.shown_size = verdict.shown_size;
  entry.stored_size = verdict.stored_size;
  entry.shown_change_ns = verdict.shown_change_ns;
  if (verdict.is_store && has_store_suffix(path)) {
    entry.kind = EntryKind::store;
    entry.is_read_only = true;
    entry.shown = ShownAs::store;
  }
  if (entry.is_container()) return;
  entry.inside = Inside::none;
  entry.content_stat = entry.own_stat;
}

/// Reads the file again where it changes meanwhile, a few times; a verdict on a file that still
/// changes is given, but not remembered.
Verdict Classifier::judge(const SourcePath& path, const SourceEntry& entry) {
  for (int tries = 1;; tries++) {
    Verdict verdict{};
    std::string reason;
    std::exception_ptr failure;
    try {
      verdict = read_verdict(path, entry, reason);
    } catch (const codec::Error& error) {
      // Damage is a verdict, remembered as one; EIO is not, since the next look may go well.
      verdict = state_verdict(entry);
      verdict.is_damaged = true;
      verdict.is_unsupported = error.code() == codec::FormatErrc::unsupported;
      reason = error.what();
    } catch (const std::system_error&) {
      failure = std::current_exception();
    }
    const bool unchanged = is_unchanged(entry);
    if (!unchanged && tries < kClassifyTries) continue;
    if (failure) std::rethrow_exception(failure);
    if (unchanged) remember(path, verdict, reason);
    return verdict;
  }
}

void Classifier::remember(const SourcePath& path, const Verdict& verdict,
                          const std::string& reason) {
  const MutexLock lock(mutex_);
  const Verdict* const known = verdicts_.find(verdict.device, verdict.inode, verdict.is_sframe);
  const bool is_new = known == nullptr || known->is_damaged != verdict.is_damaged ||
                      known->is_unsupported != verdict.is_unsupported;
  if (is_new) log_oddity(path, verdict, reason);
  const bool is_nothing = !verdict.is_container && !verdict.is_store && !verdict.is_sframe &&
                          !verdict.is_damaged && !verdict.is_unsupported;
  // Somebody may be writing a young one.
  if (is_nothing && !verdict.is_young && (is_new || known->is_young) && promises_frame(path.text()))
    log::warn(fmt::format("{}: has the suffix of a frame but no frame header", path.text()));
  verdicts_.remember(verdict);
}

/// Nothing of what is shown as the container that it is: who reads it is told.
void Classifier::log_oddity(const SourcePath& path, const Verdict& verdict,
                            const std::string& reason) const {
  if (verdict.is_unsupported && settings_.unsupported == UnsupportedFiles::hidden)
    log::warn(fmt::format("{}: left out: {}", path.text(), reason));
  else if (!verdict.is_container && (verdict.is_damaged || verdict.is_unsupported))
    log::warn(fmt::format("{}: shown as it is: {}", path.text(), reason));
}

Verdict Classifier::read_verdict(const SourcePath& path, const SourceEntry& entry,
                                 std::string& reason) const {
  Verdict verdict = state_verdict(entry);
  if (settings_.stores && S_ISREG(entry.own_stat.st_mode) &&
      path.text().ends_with(frame::kZipStoreSuffix)) {
    verdict.is_zip = true;
    verdict.is_store = is_zip_store(entry);
    if (verdict.is_store) {
      verdict.is_young = false;
      return verdict;
    }
  }
  // Without a look for lock sidecars: what a writer leaves torn is judged again when it is done.
  frame::OpenSettings settings;
  settings.counters = counters_;
  settings.read_limit = kReadLimit;
  const auto snapshot = open_with(settings, entry);
  return snapshot ? verdict_on(*snapshot, verdict, reason) : verdict;
}

/// `state` as of state_verdict().
Verdict Classifier::verdict_on(const frame::Snapshot& snapshot, Verdict state,
                               std::string& reason) const {
  Verdict verdict = state;
  if (const auto missing = frame::missing_decoder(snapshot)) {
    verdict.is_unsupported = true;
    reason = *missing;
    if (settings_.unsupported == UnsupportedFiles::raw) return verdict;
  }
  const ViewShape shape = shape_of(snapshot);
  verdict.is_container = true;
  verdict.is_young = false;
  verdict.is_read_only = snapshot.info().is_read_only();
  verdict.has_metalayers = has_listed_metalayers(snapshot);
  verdict.may_lack_contents = frame::may_lack_contents(snapshot);
  verdict.shown = shape.is_array ? ShownAs::array : ShownAs::flat;
  verdict.shown_size = shape.file_size();
  verdict.stored_size = snapshot.info().cbytes + verdict.size;
  if (!settings_.stores || verdict.is_sframe) return verdict;
  const auto kind = frame::store_kind(snapshot);
  verdict.is_store = kind == frame::StoreKind::embed;
  verdict.has_store_marker = kind.has_value();
  verdict.has_embedded = kind && frame::may_have_embedded(snapshot);
  return verdict;
}

void Classifier::remember(const Committed& committed) {
  const frame::FileStamp& stamp = committed.snapshot.stamp();
  Verdict state{};
  state.device = stamp.device;
  state.inode = stamp.inode;
  state.is_sframe = committed.is_sframe;
  state.size = stamp.size;
  state.mtime_ns = nanoseconds(modification_time(stamp));
  state.ctime_ns = committed.ctime_ns;
  state.shown_change_ns = committed.shown_change_ns;
  std::string reason;
  const Verdict verdict = verdict_on(committed.snapshot, state, reason);
  const MutexLock lock(mutex_);
  if (verdict.is_container) verdicts_.remember(verdict);
}

/// The directory at its end is read, as large as it is, but no member besides embed.b2e.
bool Classifier::is_zip_store(const SourceEntry& entry) const {
  frame::OpenSettings settings;
  settings.counters = counters_;
  auto file = std::make_shared<frame::FileSource>(entry.object->open_quietly(O_RDONLY), counters_);
  return frame::zip_store_kind(std::move(file), settings).has_value();
}

std::optional<Verdict> Classifier::recall(const SourcePath& path, const SourceEntry& entry) const {
  const struct stat& source = entry.content_stat;
  const MutexLock lock(mutex_);
  const Verdict* const found =
      verdicts_.find(source.st_dev, source.st_ino, entry.inside == Inside::index);
  if (found == nullptr) return std::nullopt;
  const Verdict& verdict = *found;
  // A file that was seen within 2 s of its last change may have changed again, with the same size
  // and times: such a verdict is not believed.
  if (verdict.is_young || verdict.size != source.st_size ||
      verdict.mtime_ns != nanoseconds(source.st_mtim) ||
      verdict.ctime_ns != nanoseconds(source.st_ctim))
    return std::nullopt;
  // By another name, which none of the suffixes had, it was no store.
  if (settings_.stores && !verdict.is_container && !verdict.is_zip &&
      entry.inside != Inside::embed && path.text().ends_with(frame::kZipStoreSuffix))
    return std::nullopt;
  return verdict;
}

}  // namespace bloscfs::fs
