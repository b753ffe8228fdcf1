#include "fs/source/local/tree/classifier.hpp"

#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "frame/store/open_regular.hpp"
#include "frame/store/peer_lock.hpp"
#include "frame/store/refusal.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/archives/store_archive.hpp"
#include "fs/support/log.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

/// How many verdicts are kept, at about 100 bytes each. With more files, some files are read again.
constexpr std::size_t kMaxVerdicts = 250'000;
/// How often a file is read to judge it, if it changes during each read.
constexpr int kClassifyTries = 3;
const std::string kEmbedFile(frame::kEmbedName);
/// A file that changed within this time may change again and keep its times, if the clock of its
/// filesystem is coarse.
constexpr std::int64_t kYoungNs = 2'000'000'000;

bool is_young(const struct stat& st) {
  return nanoseconds(now()) - nanoseconds(st.st_ctim) < kYoungNs;
}

/// Returns the status of the file that makes a directory a sparse frame or a store; nullopt if
/// there is no such file.
std::optional<struct stat> stat_file_in(const SourceObject& directory, const std::string& name) {
  try {
    const auto st = directory.stat(name);
    return st && S_ISREG(st->st_mode) ? st : std::nullopt;
  } catch (const std::system_error& error) {
    // A directory that may not be searched is shown as a directory.
    if (frame::is_refusal(error.code())) return std::nullopt;
    throw;
  }
}

bool is_same(const SourceEntry& a, const SourceEntry& b) {
  return a.role == b.role && state_of(a.content_stat) == state_of(b.content_stat) &&
         state_of(a.own_stat) == state_of(b.own_stat);
}

/// Returns the name of the file by which a directory is judged.
std::string file_in_directory(Role role) {
  return role == Role::index ? frame::kSframeIndexName : kEmbedFile;
}

void take(SourceEntry& entry, const Verdict& verdict) {
  static_cast<Verdict&>(entry) = verdict;
  if (!entry.is_container()) entry.content_stat = entry.own_stat;
}

}  // namespace

bool SourceEntry::may_be_unfinished() const {
  return (health == Health::damaged || health == Health::empty) && is_young(content_stat);
}

SourcePath content_path(const SourcePath& path, const EntryKindBase& entry) {
  return entry.is_sframe() ? join_path(path, frame::kSframeIndexName) : path;
}

SourceEntry found_entry(std::shared_ptr<const SourceObject> object) {
  SourceEntry entry;
  entry.object = std::move(object);
  entry.own_stat = entry.content_stat = entry.object->stat();
  return entry;
}

Classifier::Classifier(const SourceRoot& root, const JudgeSettings& settings,
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
  const SourceObject& object = *entry.object;
  if (entry.is_sframe())
    return frame::open_directory(object.open(O_RDONLY | O_DIRECTORY), settings);
  if (!S_ISREG(entry.own_stat.st_mode)) frame::throw_errno(ESTALE, object.name());
  settings.stamp = frame::stamp_of(entry.own_stat);
  return frame::open_file(object.open_noatime(O_RDONLY), settings);
}

std::shared_ptr<const frame::ByteSource> Classifier::bytes_of(const SourceObject& file) const {
  return std::make_shared<frame::FileSource>(file.open_noatime(O_RDONLY), counters_);
}

std::unique_ptr<const Archive> Classifier::open_archive(
    const SourcePath& path, const SourceEntry& entry,
    std::shared_ptr<MemoryBudget::Listing> charge) const {
  if (!entry.object) frame::throw_errno(ESTALE, path.text());
  const StoreFile file{[&] { return bytes_of(*entry.object); }, [&] { return open(path, entry); }};
  return open_store_file(file, entry.role, settings_.raw, std::move(charge));
}

bool Classifier::holds_frame(const SourceObject& file) const {
  return judge({bytes_of(file), Role::file}, settings_).kind != EntryKind::itself;
}

SourceEntry Classifier::quick_look(NamesWork& work, const SourcePath& path, SourceEntry entry) {
  try {
    if (S_ISDIR(entry.own_stat.st_mode)) {
      const auto find = [&](const std::string& name) -> std::optional<struct stat> {
        if (root_.is_known_absent(path, identity_of(entry.own_stat), name, &work))
          return std::nullopt;
        return stat_file_in(*entry.object, name);
      };
      auto file = find(frame::kSframeIndexName);
      entry.role = file ? Role::index : Role::embed;
      if (!file && settings_.stores) file = find(kEmbedFile);
      if (!file) return entry;
      entry.content_stat = *file;
    } else if (S_ISREG(entry.own_stat.st_mode)) {
      entry.role = role_of(path.text(), settings_);
    } else {
      return entry;
    }
  } catch (const std::system_error& error) {
    note_unreadable(work.request(), path, entry, error.code());
    return entry;
  }
  const MutexLock lock(mutex_);
  const KnownVerdict* const known =
      verdicts_.find(entry.content_stat.st_dev, entry.content_stat.st_ino, entry.role);
  // A file that was judged within 2 s of its last change may have changed again, with the same size
  // and times. Such a verdict is not used.
  if (known != nullptr && !known->is_young &&
      known->state == judged_state(state_of(entry.content_stat))) {
    entry.shown_change_ns = known->shown_change_ns;
    take(entry, known->verdict);
  } else {
    entry.trust = EntryOrigin::unread;
  }
  return entry;
}

SourceEntry Classifier::look(NamesWork& work, const SourcePath& path, SourceEntry found) {
  SourceEntry entry = quick_look(work, path, std::move(found));
  if (entry.trust != EntryOrigin::unread) return entry;
  for (const auto& judged : work.judged)
    if (is_same(judged->seen, entry)) {
      SourceEntry known = judged->entry;
      known.object = std::move(entry.object);
      return known;
    }
  auto judged = std::make_shared<JudgedEntry>(JudgedEntry{entry, {}});
  const auto judge = [this, &work, path, judged] {
    judged->entry = read(work.request(), path, judged->seen);
  };
  // Reading a file may take long. An operation that shares the lock releases it for that (pause()).
  // An operation that holds the lock alone is called again with the verdict at hand. The verdict
  // counts only for the state in which it was reached (is_same()).
  if (!work.pause(judge))
    work.read_first([&work, judged, judge] {
      if (!judged->entry.object) judge();
      work.judged.push_back(judged);
    });
  return judged->entry;
}

SourceEntry Classifier::read(const Request& request, const SourcePath& path, SourceEntry entry) {
  entry.trust = EntryOrigin::file;
  try {
    take(entry, judge_stable(request, path, entry));
  } catch (const std::system_error& error) {
    note_unreadable(request, path, entry, error.code());
  }
  return entry;
}

void Classifier::note_unreadable(const Request& request, const SourcePath& path, SourceEntry& entry,
                                 const std::error_code& error) {
  entry.content_stat = entry.own_stat;
  if (frame::is_refusal(error)) return;  // opening the file throws the same error at the reader
  entry.unreadable = error;
  if (S_ISREG(entry.own_stat.st_mode)) {
    const std::string& text = path.text();
    entry.shown = promised(std::string_view(text).substr(text.rfind('/') + 1), false, settings_);
  }
  log_.error(request.user(),
             fmt::format("{}: cannot read in SOURCE: {}; check the disk or server of SOURCE",
                         path.text(), error.message()));
}

ReasonedVerdict Classifier::judge_once(const SourceEntry& entry) const {
  // Does not wait for a file's lock sidecar. If a writer is in the middle of a change, the file is
  // judged again after it.
  if (!S_ISDIR(entry.own_stat.st_mode))
    return judge({bytes_of(*entry.object), entry.role, frame::stamp_of(entry.content_stat)},
                 settings_);
  const frame::UniqueFd directory = entry.object->open(O_RDONLY | O_DIRECTORY);
  std::shared_ptr<frame::PeerLock> lock;
  if (entry.role == Role::index)
    lock = frame::PeerLock::open(directory.get(), frame::kSframeLockName);
  const frame::PeerLock::Shared shared(std::move(lock));
  auto file = frame::open_regular_at(directory.get(), file_in_directory(entry.role), O_RDONLY);
  if (!file) return {};
  return judge({std::make_shared<frame::FileSource>(std::move(file), counters_), entry.role},
               settings_);
}

/// Judges a file, and judges it again a few times if it changes during that. A verdict on a file
/// that still changes is returned, but not remembered.
Verdict Classifier::judge_stable(const Request& request, const SourcePath& path,
                                 const SourceEntry& entry) {
  for (int tries = 1;; tries++) {
    ReasonedVerdict verdict;
    std::exception_ptr failure;
    try {
      verdict = judge_once(entry);
    } catch (const std::system_error&) {
      failure = std::current_exception();
    }
    const std::optional<struct stat> now = S_ISDIR(entry.own_stat.st_mode)
                                               ? entry.object->stat(file_in_directory(entry.role))
                                               : entry.object->stat();
    const bool unchanged = now && state_of(*now) == state_of(entry.content_stat);
    if (!unchanged && tries < kClassifyTries) continue;
    if (failure) std::rethrow_exception(failure);
    if (unchanged) remember(request, path, entry, verdict);
    return verdict;
  }
}

void Classifier::remember(const Request& request, const SourcePath& path, const SourceEntry& entry,
                          const ReasonedVerdict& verdict) {
  const bool is_itself = verdict.kind == EntryKind::itself;
  const KnownVerdict remembered{.state = judged_state(state_of(entry.content_stat)),
                                .role = entry.role,
                                .is_young = is_itself && is_young(entry.content_stat),
                                .verdict = verdict};
  const MutexLock lock(mutex_);
  const KnownVerdict* const known =
      verdicts_.find(entry.content_stat.st_dev, entry.content_stat.st_ino, entry.role);
  const bool is_new = known == nullptr || known->verdict.health != verdict.health;
  if (settings_.logs_verdicts && is_new && !verdict.reason.empty())
    log::warn(
        request.user(),
        fmt::format(
            "{}: {}: {}{}", path.text(), verdict.is_left_out() ? "left out" : "shown as it is",
            verdict.reason,
            verdict.health == Verdict::Health::damaged ? "; b2frame repair may save it" : ""));
  const bool is_no_frame = is_itself && verdict.reason.empty() && S_ISREG(entry.own_stat.st_mode);
  // A young file may still be being written.
  if (settings_.logs_verdicts && is_no_frame && !remembered.is_young &&
      (is_new || known->is_young) && promises_frame(path.text()))
    log::warn(request.user(),
              fmt::format("{}: {}", path.text(), no_header_message(entry.own_stat.st_size)));
  verdicts_.remember(remembered);
}

void Classifier::remember(const frame::Snapshot& committed, const std::string& name,
                          KnownVerdict known) {
  if (known.role == Role::file) known.role = role_of(name, settings_);
  known.verdict = judge(committed, known.role, settings_);
  if (known.verdict.kind == EntryKind::itself) return;
  const MutexLock lock(mutex_);
  verdicts_.remember(known);
}

}  // namespace bloscfs::fs
