#pragma once
// Finds out what each source entry is: a container, a store, or a file or directory that is shown
// as it is.

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

/// Where the knowledge of an entry comes from.
enum class EntryOrigin : std::uint8_t {
  unread,   ///< not known yet: Classifier::read() is needed
  file,     ///< the file itself, or its type if it has nothing to read
  content,  ///< the open content, while a commit may be changing the file
  /// The open content, which may not have followed the present state of SOURCE's file yet.
  outdated,
};

/// An entry of SOURCE: its object and attributes, and what it was found to be.
struct SourceEntry : Verdict {
  Role role = Role::file;  ///< of the file that is judged
  /// Containers: time of the last change by a user, if a commit of this mount stored that change in
  /// this state; 0 if unknown.
  std::int64_t shown_change_ns = 0;
  /// The error that prevented a judgement (EIO, EMFILE...). The entry is then shown by the name
  /// that its suffix promises, and any use of it beyond its name throws this error.
  std::error_code unreadable;
  EntryOrigin trust = EntryOrigin::file;
  /// The object as it was found, so that it can be opened without another lookup.
  std::shared_ptr<const SourceObject> object;
  struct stat content_stat {};  ///< of the file; for an sframe of its chunks.b2frame
  struct stat own_stat {};      ///< of the entry itself; for an sframe of its directory

  /// True if the file may still be being written, so that a later look may find a container.
  bool may_be_unfinished() const;

  mode_t shown_type() const {
    if (is_store()) return S_IFDIR;
    return is_container() ? S_IFREG : own_stat.st_mode & S_IFMT;
  }
};

/// Returns the path of the file that holds the contents: for a sparse frame, its index.
SourcePath content_path(const SourcePath& path, const EntryKindBase& entry);

/// Returns the entry of an object that has not been judged yet.
SourceEntry found_entry(std::shared_ptr<const SourceObject> object);

/// The result of judging an entry in one state.
struct JudgedEntry {
  SourceEntry seen;   ///< as it was before it was read
  SourceEntry entry;  ///< as it was judged
};

/// Judges entries, and remembers verdicts by inode, size and times in bounded memory. Remembers
/// only verdicts on bytes that this mount has just written, or that did not change while they were
/// read. Failed reads and missing permissions are not remembered. Log messages are counted to the
/// user of the request that looks. Thread-safe.
class Classifier {
 public:
  Classifier(const SourceRoot& root, const JudgeSettings& settings,
             frame::SourceCounters* counters);

  /// Judges a found_entry() that `path` led to, even if `path` leads elsewhere by now. Damaged
  /// containers are logged once and count as `itself`. So do files that may not be read, and files
  /// that a megabyte does not suffice to judge. Anything but a regular file or directory also
  /// counts as `itself`, and is never opened.
  /// Does not know which files this mount has open for writing: Tree::look() asks their contents
  /// first. If the file has to be read, that happens without the lock on names: ReadFirst.
  SourceEntry look(NamesWork& work, const SourcePath& path, SourceEntry found);
  /// Like look(), but reads no file. An entry whose file would have to be read stays unread.
  SourceEntry quick_look(NamesWork& work, const SourcePath& path, SourceEntry entry);
  /// Judges an unread entry by reading its file.
  SourceEntry read(const Request& request, const SourcePath& path, SourceEntry entry);

  /// Remembers the frame that a commit of this mount has stored, in the state and role of `known`,
  /// so that the file need not be read. `name` is that of the file, or of a sparse frame's
  /// directory.
  void remember(const frame::Snapshot& committed, const std::string& name, KnownVerdict known);

  /// Opens the archive that was found at `path`. Null if the file is no archive any more.
  std::unique_ptr<const Archive> open_archive(const SourcePath& path, const SourceEntry& entry,
                                              std::shared_ptr<MemoryBudget::Listing> charge) const;
  /// True if a regular file holds a frame or a Bloscpack file that would be shown as a container or
  /// a store. Reads the file each time, and remembers nothing.
  bool holds_frame(const SourceObject& file) const;
  /// Opens the container that was found at `path`, even if something else has that name by now.
  /// Takes part in the locking of other Blosc2 programs. Null if it is no container any more.
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
