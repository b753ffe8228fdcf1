#include "frame/reading/expected_state.hpp"

#include <cerrno>
#include <chrono>
#include <utility>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline reading {
namespace {

/// A stamp of this age is reliable. Two changes within one tick of a coarse clock have the same
/// time of modification.
constexpr std::chrono::seconds kClockDoubt{2};

bool is_recent(const FileStamp& stamp) {
  const auto then = std::chrono::system_clock::now() - kClockDoubt;
  return stamp.mtime_s >= std::chrono::system_clock::to_time_t(then);
}

}  // namespace

void throw_stale(const std::string& name) {
  throw_errno(ESTALE, name + ": changed by another program");
}

ExpectedState::ExpectedState(const FileStamp& stamp, std::vector<std::uint8_t> header)
    : stamp_(stamp), header_(std::move(header)) {}

bool ExpectedState::matches(const ByteSource& source) const {
  const std::lock_guard guard(mutex_);
  if (overtaken_) return false;
  if (!writing_) {
    if (source.stamp() != stamp_) return false;
    // An equal stamp proves that the file is unchanged, if it is older than kClockDoubt. A second
    // change may have left a newer stamp the same. Then the header decides, because every commit
    // changes its frame_len.
    if (!is_recent(stamp_)) return true;
  }
  return has_header(source);
}

bool ExpectedState::has_header(const ByteSource& source) const {
  std::vector<std::uint8_t> now(header_.size());
  return source.read_at(0, now) == now.size() && now == header_;
}

bool ExpectedState::matches_stamp(const FileStamp& stamp) const {
  const std::lock_guard guard(mutex_);
  return stamp == stamp_;
}

FileStamp ExpectedState::stamp() const {
  const std::lock_guard guard(mutex_);
  return stamp_;
}

bool ExpectedState::is_overtaken() const {
  const std::lock_guard guard(mutex_);
  return overtaken_;
}

void ExpectedState::change_times(const ByteSource& source, const std::function<void()>& change) {
  const std::lock_guard guard(mutex_);
  const bool is_known = source.stamp() == stamp_;
  change();
  // If the file had been changed before this call, it must still not match.
  if (is_known) stamp_ = source.stamp();
}

void ExpectedState::begin_writing() {
  const std::lock_guard guard(mutex_);
  writing_ = true;
}

std::optional<FileStamp> ExpectedState::end_writing(const ByteSource& source) {
  const std::lock_guard guard(mutex_);
  stamp_ = source.stamp();
  // overtaken_ is never cleared, because the stamp read above may already be that of another
  // program's change.
  overtaken_ |= !has_header(source);
  writing_ = false;
  return overtaken_ ? std::nullopt : std::optional(stamp_);
}

void ExpectedState::replace_header(std::vector<std::uint8_t> header,
                                   const std::function<void()>& replace) {
  const std::lock_guard guard(mutex_);
  replace();
  header_ = std::move(header);
}

void ExpectedState::replace_file(std::vector<std::uint8_t> header,
                                 const std::function<FileStamp()>& replace) {
  const std::lock_guard guard(mutex_);
  // Runs under the mutex. Otherwise a reader that compares during the change would see the new file
  // with the old stamp.
  stamp_ = replace();
  header_ = std::move(header);
}

void ExpectedState::store_notes(std::shared_ptr<WriterNotes> notes) {
  const std::lock_guard guard(mutex_);
  had_writer_ = true;
  notes_ = std::move(notes);
}

std::shared_ptr<WriterNotes> ExpectedState::notes() const {
  const std::lock_guard guard(mutex_);
  return notes_;
}

bool ExpectedState::had_writer() const {
  const std::lock_guard guard(mutex_);
  return had_writer_;
}

}  // namespace bloscfs::frame::inline reading
