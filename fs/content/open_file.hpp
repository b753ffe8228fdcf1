#pragma once
// What the open handles of one node share, by the kind of file that it is open as.

#include <atomic>
#include <memory>
#include <utility>

#include <sys/stat.h>
#include <sys/types.h>

#include "frame/store/byte_source.hpp"
#include "fs/content/content.hpp"

namespace bloscfs::fs {

/// Immutable. Lives as long as a handle has it, or a commit is to come.
class OpenFile {
 public:
  /// `shown` is what was shown of the file when it was opened.
  explicit OpenFile(const struct stat& shown) : attributes(shown) {}
  virtual ~OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// True while it knows better than the source file what that is.
  virtual bool leads() const { return false; }

  const struct stat attributes;
};

/// A container's.
class OpenContainer final : public OpenFile {
 public:
  OpenContainer(const struct stat& shown, std::shared_ptr<Content> of_container)
      : OpenFile(shown), content(std::move(of_container)) {}

  bool leads() const override { return content->leads(); }

  const std::shared_ptr<Content> content;  ///< changes all the time
  /// Handles for reading of which no read beyond the start, where a header is, has come to us.
  mutable std::atomic<int> beginners = 0;
  mutable std::atomic<pid_t> last_reader = 0;  ///< the thread that opened it for reading last
};

/// A plain file's.
class OpenPlainFile final : public OpenFile {
 public:
  OpenPlainFile(const struct stat& shown, frame::UniqueFd of_file)
      : OpenFile(shown), descriptor(std::move(of_file)) {}

  const frame::UniqueFd descriptor;

  // Changed by PlainFiles alone, which locks the node meanwhile.
  mutable int readers = 0;  ///< handles opened for reading
  /// The last writer left it to the last reader to make it a frame.
  mutable std::atomic<bool> owes_frame = false;
};

}  // namespace bloscfs::fs
