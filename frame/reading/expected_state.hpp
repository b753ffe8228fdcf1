#pragma once
// The state that a frame is expected to be in. All snapshots of one writer share it: as long as
// only that writer changes the frame, none of the states that they show has been overwritten.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline reading {

/// Throws ESTALE.
[[noreturn]] void throw_stale(const std::string& name);

/// What a writer that ends knows of the file, for the next writer.
class WriterNotes {
 public:
  virtual ~WriterNotes() = default;
  /// Bytes, about.
  virtual std::size_t memory() const = 0;
};

/// Thread-safe.
class ExpectedState {
 public:
  /// `header` is the start of the file that holds the header.
  ExpectedState(const FileStamp& stamp, std::vector<std::uint8_t> header);

  /// True if the file at `source` is as expected, as far as its stamp, or where that cannot tell,
  /// its header says.
  bool matches(const ByteSource& source) const;
  bool matches_stamp(const FileStamp& stamp) const;
  /// True once end_writing() has found that somebody else has changed the file.
  bool is_overtaken() const;
  /// Calls `change`, which sets nothing but the times of the file at `source`; nobody compares
  /// meanwhile.
  void keep_through(const ByteSource& source, const std::function<void()>& change);

  // --- for the one writer

  /// From now on until end_writing() only the header tells whether somebody else changed the file.
  void begin_writing();
  /// The file is as the writer has left it, and so is its stamp, which this returns: unless its
  /// header tells that somebody else has been at it meanwhile, which is then never forgotten.
  std::optional<FileStamp> end_writing(const ByteSource& source);
  /// Calls `replace`, which puts another header in place; nobody compares meanwhile. When it throws
  /// the old one is still expected.
  void replace_header(std::vector<std::uint8_t> header, const std::function<void()>& replace);
  /// The same where a new file takes the old one's name; `replace` returns its stamp.
  void replace_file(std::vector<std::uint8_t> header, const std::function<FileStamp()>& replace);

  /// Called when a writer ends, and with null when the next one begins or where the one that ends
  /// cannot vouch for what it knew.
  void leave_notes(std::shared_ptr<WriterNotes> notes);
  /// Null if there are none.
  std::shared_ptr<WriterNotes> notes() const;
  /// True if there was a writer, so that snapshots of earlier states may be in use.
  bool had_writer() const;

 private:
  bool has_header(const ByteSource& source) const;

  mutable std::mutex mutex_;
  FileStamp stamp_;
  std::vector<std::uint8_t> header_;
  bool writing_ = false;
  bool overtaken_ = false;  ///< somebody else has changed the file while it was written to
  bool had_writer_ = false;
  std::shared_ptr<WriterNotes> notes_;
};

}  // namespace bloscfs::frame::inline reading
