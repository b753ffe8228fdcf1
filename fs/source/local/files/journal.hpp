#pragma once
// What the lock file of a SOURCE says of temporaries there: whose they are, and which of them hold
// what a mount could not commit before it ended, so that nothing is dropped silently.

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "frame/store/byte_store.hpp"
#include "frame/store/temporary_name.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

struct KeptFile {
  std::string temporary;  ///< name of the frame, in the directory of the lock file
  std::string path;       ///< below SOURCE, by the name that the mount showed the file under
};

/// Lines `maker SECRET` (frame/store/temporary_name.hpp) and `kept TEMPORARY PATH`, in which bytes
/// other than letters, digits and "._-/" are written %XX. The file is changed in place, since it is
/// locked: lines are added at the end, and those that are done with get a "-" as their first byte,
/// or are cut off. What is no such line, or has no end, says nothing, and neither does a frame:
/// that an ordinary user's mount makes for others is his, too, and may be given the name by them.
/// Errors are std::system_error. Thread-safe.
class Journal {
 public:
  /// The journal in a file that is locked, and only its owner can have written.
  explicit Journal(std::shared_ptr<frame::StoreFile> file);
  /// The journal in one that is open for reading and writing.
  explicit Journal(const frame::UniqueFd& file);

  /// Makers of which something may be left: earlier processes, at most the last 1000. None where
  /// the file is too long to be believed.
  std::vector<frame::TemporaryMaker> makers() const;
  std::vector<KeptFile> kept() const;
  bool is_empty() const;

  void add(const frame::TemporaryMaker& maker);
  /// Durable when it returns.
  void add(const KeptFile& file);
  void forget(const frame::TemporaryMaker& maker);
  void forget(const std::string& temporary);
  /// Makes all of it durable.
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
  bool has_torn_end_ GUARDED_BY(mutex_) = false;
  bool is_too_long_ GUARDED_BY(mutex_) = false;
};

}  // namespace bloscfs::fs
