#pragma once
// The state that a frame is expected to be in. All snapshots of one writer share it. As long as
// only that writer changes the frame, none of their states has been overwritten.

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

/// Facts about the file that a writer leaves to the next writer.
class WriterNotes {
 public:
  virtual ~WriterNotes() = default;
  /// Returns roughly how many bytes the notes take.
  virtual std::size_t memory() const = 0;
};

/// Thread-safe.
class ExpectedState {
 public:
  /// `header` is the start of the file, which holds the header.
  ExpectedState(const FileStamp& stamp, std::vector<std::uint8_t> header);

  /// True if the file at `source` is still in the expected state. Compares its stamp, and its
  /// header if the stamp is too recent to be reliable.
  bool matches(const ByteSource& source) const;
  bool matches_stamp(const FileStamp& stamp) const;
  /// Returns the expected stamp. After begin_writing(), this is the stamp before the writes.
  FileStamp stamp() const;
  /// True once end_writing() has found that another program has changed the file.
  bool is_overtaken() const;
  /// Calls `change`, which only sets the times of the file at `source`. No thread compares during
  /// the call.
  void change_times(const ByteSource& source, const std::function<void()>& change);

  // --- for the one writer

  /// Until end_writing(), only the header tells whether another program has changed the file,
  /// because the writer's own changes also change the stamp.
  void begin_writing();
  /// Takes the stamp of the file as the expected one, and returns it. If the header shows that
  /// another program has changed the file, returns nullopt, and the state never matches again.
  std::optional<FileStamp> end_writing(const ByteSource& source);
  /// Calls `replace`, which writes another header. No thread compares during the call. If it
  /// throws, the old header is still expected.
  void replace_header(std::vector<std::uint8_t> header, const std::function<void()>& replace);
  /// Like replace_header(), for a new file that takes the old one's name. `replace` returns its
  /// stamp.
  void replace_file(std::vector<std::uint8_t> header, const std::function<FileStamp()>& replace);

  /// Stores the notes of a writer that ends. Called with null when the next writer begins, or if
  /// the notes of the ending writer are not reliable.
  void store_notes(std::shared_ptr<WriterNotes> notes);
  /// Returns the notes of the last writer; null if there are none.
  std::shared_ptr<WriterNotes> notes() const;
  /// True if a writer has used this state. Snapshots of earlier states may then be in use.
  bool had_writer() const;

 private:
  bool has_header(const ByteSource& source) const;

  mutable std::mutex mutex_;
  FileStamp stamp_;
  std::vector<std::uint8_t> header_;
  bool writing_ = false;
  bool overtaken_ = false;  ///< another program has changed the file during a write
  bool had_writer_ = false;
  std::shared_ptr<WriterNotes> notes_;
};

}  // namespace bloscfs::frame::inline reading
