#pragma once
// Tells what each source entry is: a container to be shown decompressed, or itself.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <sys/stat.h>

#include "frame/open.hpp"
#include "fs/file_view.hpp"
#include "fs/naming.hpp"
#include "fs/source_root.hpp"
#include "fs/sync.hpp"
#include "fs/verdict_table.hpp"

namespace bloscfs::fs {

/// The file that makes a directory a sparse frame.
inline constexpr const char* kSframeIndex = "chunks.b2frame";

/// What an entry is, without holding it open.
struct SourceEntry {
  ShownAs shown = ShownAs::itself;
  bool is_container = false;
  bool is_sframe = false;
  bool is_bloscpack = false;
  std::int64_t shown_size = 0;   ///< containers: st_size of the view
  std::int64_t stored_size = 0;  ///< sframes: bytes in the chunk files and the index
  struct stat source {};         ///< of the file; of chunks.b2frame for an sframe
  struct stat entry {};          ///< of the entry itself (the directory of an sframe)
};

/// Thread-safe. Remembers verdicts by inode, size and times, in bounded memory.
class Classifier {
 public:
  Classifier(const SourceRoot& root, bool raw, frame::SourceCounters* counters);

  /// The entry at `path`, nullopt if nothing is there. Damaged containers are logged once and
  /// count as themselves; so do files that may not be read, and anything that is no regular file
  /// or directory, which is never opened.
  std::optional<SourceEntry> look(const std::string& path);
  /// The same for a container that only this mount writes to, which does not make another kind of
  /// file of it: what it was judged to be last holds, all but the sizes.
  std::optional<SourceEntry> look_at_own(const std::string& path);

  /// True if a regular file holds a container now; nothing is remembered.
  bool is_container(const SourceObject& file) const;
  /// Opens the container at `path`, taking part in the locking of other Blosc2 programs. Null if
  /// it is none any more.
  std::unique_ptr<frame::Snapshot> open(const std::string& path, bool is_sframe) const;
  ViewShape shape_of(const frame::Snapshot& snapshot) const;

 private:
  std::unique_ptr<frame::Snapshot> open_with(const frame::OpenSettings& settings,
                                             const std::string& path, bool is_sframe) const;
  std::optional<struct stat> stat_index(const std::string& directory) const;
  enum class Trust { same_state, any_state };
  void look_inside(const std::string& path, SourceEntry& entry, Trust trust);
  Verdict judge(const std::string& path, const SourceEntry& entry);
  std::optional<SourceEntry> look(const std::string& path, Trust trust);
  std::optional<Verdict> recall(const SourceEntry& entry, Trust trust) const;

  const SourceRoot& root_;
  const bool raw_;
  frame::SourceCounters* counters_;
  mutable Mutex mutex_;
  VerdictTable verdicts_ GUARDED_BY(mutex_);
};

std::int64_t nanoseconds(const timespec& time);

}  // namespace bloscfs::fs
