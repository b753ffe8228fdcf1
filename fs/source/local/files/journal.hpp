#pragma once
// The journal in the lock file of a SOURCE. It names the processes that may have left temporaries
// there, and the temporaries that hold contents that a mount could not commit before it ended. Such
// contents must not be dropped silently.

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "frame/store/byte_store.hpp"
#include "frame/store/temporary_name.hpp"
#include "fs/support/loss.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

struct KeptFile {
  std::string temporary;  ///< file name of the frame, in the directory of the lock file
  std::string path;       ///< path relative to SOURCE, as the mount showed the file
  Loss loss = Loss::none;
};

/// Reads and writes a journal. A line `maker SECRET` names a process that may have left temporaries
/// (frame/store/temporary_name.hpp). A line `kept TEMPORARY PATH [LOSS]` names a temporary with
/// contents that could not be committed, and the file they belong to. In PATH, bytes other than
/// letters, digits and "._-/" are written as %XX. LOSS is that of word_of(). Other words there are
/// ignored, as earlier versions ignore LOSS.
///
/// The lock on SOURCE is a lock on this very file, so the file is changed in place and never
/// replaced. New lines go to the end. To cancel a line, its first byte is overwritten with "-", or
/// the line is cut off if it is the last one. A line that cannot be parsed, or has no newline, is
/// ignored.
///
/// A file that is a frame holds no journal, whatever its bytes. Otherwise users could forge one: a
/// mount that an ordinary user runs for others creates their files with its own uid, and they can
/// rename such a frame to the lock file's name.
///
/// Errors are std::system_error. Thread-safe.
class Journal {
 public:
  /// Reads the journal in a file that no other user can have written to. The lock on the file must
  /// be held before the journal is changed.
  explicit Journal(std::shared_ptr<frame::StoreFile> file);
  /// Reads the journal in an open file. To change the journal, the file must be open for reading
  /// and writing.
  explicit Journal(const frame::UniqueFd& file);

  /// Returns the earlier processes that may have left temporaries, at most the last 1000. Returns
  /// none if the file is too long to be trusted.
  std::vector<frame::TemporaryMaker> makers() const;
  std::vector<KeptFile> kept() const;
  bool is_empty() const;

  void add(const frame::TemporaryMaker& maker);
  /// Durable when it returns.
  void add(const KeptFile& file);
  void forget(const frame::TemporaryMaker& maker);
  void forget(const std::string& temporary);
  /// Makes all lines durable.
  void sync();

 private:
  struct Line {
    std::uint64_t offset = 0, size = 0;
    std::variant<std::monostate, frame::TemporaryMaker, KeptFile> content = {};
  };

  void read() REQUIRES(mutex_);
  void append(std::string text, Line line) REQUIRES(mutex_);
  void cancel(std::size_t number) REQUIRES(mutex_);

  const std::shared_ptr<frame::StoreFile> file_;
  mutable Mutex mutex_{LockLevel::table};
  std::vector<Line> lines_ GUARDED_BY(mutex_);
  std::unordered_multimap<std::string, std::size_t> kept_ GUARDED_BY(mutex_);  ///< by temporary
  std::uint64_t end_ GUARDED_BY(mutex_) = 0;
  bool has_torn_end_ GUARDED_BY(mutex_) = false;  ///< the last line has no newline
  bool is_too_long_ GUARDED_BY(mutex_) = false;
};

}  // namespace bloscfs::fs
