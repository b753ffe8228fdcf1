#pragma once
// The state that all open handles of one node share, by the kind of file.

#include <atomic>
#include <memory>
#include <utility>

#include <sys/stat.h>
#include <sys/types.h>

#include "frame/store/byte_source.hpp"
#include "fs/content/content.hpp"

namespace bloscfs::fs {

/// Immutable. Lives as long as a handle uses it, or a commit of it is pending.
class OpenFile {
 public:
  /// `shown` has the attributes that stat showed when the file was opened.
  explicit OpenFile(const struct stat& shown) : attributes(shown) {}
  virtual ~OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// True while the open file, and not the file in SOURCE, determines size and contents.
  virtual bool is_authoritative() const { return false; }

  const struct stat attributes;
};

/// An open container.
class OpenContainer final : public OpenFile {
 public:
  OpenContainer(const struct stat& shown, std::shared_ptr<Content> of_container)
      : OpenFile(shown), content(std::move(of_container)) {}

  bool is_authoritative() const override { return content->is_authoritative(); }

  const std::shared_ptr<Content> content;  ///< mutable, unlike the pointer
  /// Number of read handles that have read nothing beyond the start of the file, where the header
  /// is.
  mutable std::atomic<int> beginners = 0;
  mutable std::atomic<pid_t> last_reader = 0;  ///< the thread that last opened it for reading
};

/// An open plain file.
class OpenPlainFile final : public OpenFile {
 public:
  OpenPlainFile(const struct stat& shown, frame::UniqueFd of_file)
      : OpenFile(shown), descriptor(std::move(of_file)) {}

  const frame::UniqueFd descriptor;

  // Changed only by PlainFiles, with the node locked.
  mutable int readers = 0;  ///< handles opened for reading
  /// The last writer left it to the last reader to turn the file into a frame.
  mutable std::atomic<bool> becomes_frame_at_close = false;
};

}  // namespace bloscfs::fs
