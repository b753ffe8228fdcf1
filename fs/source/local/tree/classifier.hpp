#pragma once
// Tells what each source entry is: a container to be shown decompressed, or itself.

#include <cstdint>
#include <memory>
#include <string>
#include <system_error>

#include <sys/stat.h>

#include "frame/open/open.hpp"
#include "frame/pystore/python_store.hpp"
#include "fs/source/archives/archive.hpp"
#include "fs/source/judge.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/tree/names_work.hpp"
#include "fs/source/local/tree/verdict_table.hpp"
#include "fs/support/once_log.hpp"
#include "fs/support/sync.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// Who says what an entry is.
enum class Trust : std::uint8_t {
  unread,   ///< nobody yet: Classifier::read() is needed
  file,     ///< the file itself, or its type where there is nothing to read
  content,  ///< what this mount has open of it: the file may be in the midst of a commit
  /// What this mount has open of it, which may have been made of another state of SOURCE.
  outdated,
};

/// What an entry is, without holding it open.
struct SourceEntry : Verdict {
  Role role = Role::file;  ///< of the file that tells what it is
  /// Containers: when somebody changed what a commit of this mount stored then; 0 if not known.
  std::int64_t shown_change_ns = 0;
  /// The error by which it could not be found out what the entry is (EIO, EMFILE...): then it is
  /// shown by the name that its suffix promises, and whoever wants more than the name gets this.
  std::error_code unreadable;
  Trust trust = Trust::file;
  /// The entry itself as it was found, to be opened without looking for it again.
  std::shared_ptr<const SourceObject> object;
  struct stat content_stat {};  ///< of the file; of chunks.b2frame for an sframe
  struct stat own_stat {};      ///< of the entry itself (the directory of an sframe)

  /// True for what may be in the midst of being written: a look somewhat later finds a container.
  bool may_be_unfinished() const;

  mode_t shown_type() const {
    if (is_store()) return S_IFDIR;
    return is_container() ? S_IFREG : own_stat.st_mode & S_IFMT;
  }
};

/// The path of the file that holds the contents: of a sparse frame, its index.
SourcePath content_path(const SourcePath& path, const OfKind& entry);

/// An object as it is now, of which nothing else is known.
SourceEntry found_entry(std::shared_ptr<const SourceObject> object);

/// What an entry in a state was found to be.
struct JudgedEntry {
  SourceEntry seen;   ///< before it was read
  SourceEntry entry;  ///< what it is
};

/// Thread-safe. Remembers verdicts by inode, size and times, in bounded memory: only such as the
/// bytes justify, read while the file stayed as it was, or just written. Neither a failed read nor
/// a missing permission says anything about a file. What is found is logged on the account of the
/// request that looks.
class Classifier {
 public:
  Classifier(const SourceRoot& root, const JudgeSettings& settings,
             frame::SourceCounters* counters);

  /// What a found_entry() is, which `path` led to, whatever that leads to by now. Damaged
  /// containers are logged once and count as themselves; so do files that may not be read, those
  /// that a megabyte does not tell of, and anything that is no regular file or directory, which is
  /// never opened. Never asked about what this mount has open for writing. A file that has to be
  /// read is read without the lock on names: ReadFirst.
  SourceEntry look(NamesWork& work, const SourcePath& path, SourceEntry found);
  /// The same as far as that is known without reading: else the entry is unread.
  SourceEntry quick_look(NamesWork& work, const SourcePath& path, SourceEntry entry);
  /// What an unread entry is.
  SourceEntry read(const Request& request, const SourcePath& path, SourceEntry entry);

  /// What a commit of this mount has left in the state and role of `known`, so that nobody has to
  /// read it. `name` is that of the file, or of a sparse frame's directory.
  void remember(const frame::Snapshot& committed, const std::string& name, KnownVerdict known);

  /// Opens the archive that was found at `path`. Null if it is none any more.
  std::unique_ptr<const Archive> open_archive(const SourcePath& path, const SourceEntry& entry,
                                              std::shared_ptr<MemoryBudget::Listing> charge) const;
  /// True if a regular file holds a frame or a Bloscpack file now that is shown as a container or
  /// as a store; nothing is remembered.
  bool holds_frame(const SourceObject& file) const;
  /// Opens the container that was found at `path`, whatever has that name by now, taking part in
  /// the locking of other Blosc2 programs. Null if it is none any more.
  std::unique_ptr<frame::Snapshot> open(const SourcePath& path, const SourceEntry& entry) const;

 private:
  std::shared_ptr<const frame::ByteSource> bytes_of(const SourceObject& file) const;
  ReasonedVerdict judge_once(const SourceEntry& entry) const;
  Verdict judge_stable(const Request& request, const SourcePath& path, const SourceEntry& entry);
  void remember(const Request& request, const SourcePath& path, const SourceEntry& entry,
                const ReasonedVerdict& verdict);
  void note_unreadable(const Request& request, const SourcePath& path, SourceEntry& entry,
                       const std::error_code& error);

  const SourceRoot& root_;
  const JudgeSettings settings_;
  frame::SourceCounters* counters_;
  mutable Mutex mutex_{LockLevel::table};
  VerdictTable verdicts_ GUARDED_BY(mutex_);
  OnceLog log_;
};

}  // namespace bloscfs::fs
