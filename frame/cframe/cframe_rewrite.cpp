#include "frame/cframe/cframe_rewrite.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "frame/editing/frame_file.hpp"
#include "frame/editing/replace_expected.hpp"
#include "frame/reading/expected_state.hpp"
#include "frame/store/store_writer.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline cframe {
namespace {

constexpr std::int64_t kEntriesAtOnce = 2048;

std::uint64_t chunk_size_at(const ByteSource& source, std::uint64_t position) {
  const StoredAt at{position, static_cast<std::uint64_t>(INT32_MAX)};
  return static_cast<std::uint64_t>(read_chunk_header(source, at, {}).cbytes);
}

/// The index of a file whose chunks are adjacent and in order.
class PackedIndex final : public TableContent {
 public:
  PackedIndex(EditedIndex& old, const ByteSource& file, std::uint64_t header_len,
              std::uint64_t first)
      : old_(old), file_(file), header_len_(header_len), position_(first) {}

  std::int64_t count() const override { return old_.count(); }
  std::optional<std::int64_t> uniform_entry() const override {
    // Chunks that share a position in the old file are copied one by one, and so get different
    // positions.
    const auto entry = old_.uniform_entry();
    return entry && *entry < 0 ? entry : std::nullopt;
  }
  /// Must be called for all entries in order.
  void read(std::int64_t first, std::span<std::int64_t> out) override {
    old_.read(first, out);
    for (std::int64_t& entry : out) {
      if (entry < 0) continue;
      // Counts the positions again from the headers of the copied chunks, in the order of copying.
      entry = static_cast<std::int64_t>(position_ - header_len_);
      position_ += chunk_size_at(file_, position_);
    }
  }

 private:
  EditedIndex& old_;
  const ByteSource& file_;
  std::uint64_t header_len_;
  std::uint64_t position_;
};

}  // namespace

CframeRewrite::CframeRewrite(CframeState& state)
    : state_(state), directory_(state.directory), name_(temporary_name()) {
  if (state.file->link_count() > 1 && !state.settings.anew)
    // The other names would still lead to the old file.
    throw_errno(EOPNOTSUPP, state.name + ": cannot replace a file with several hard links");
  file_ = directory_->create(name_, 0600);
}

CframeRewrite::~CframeRewrite() {
  if (!published_) remove_leftover();
}

std::uint64_t CframeRewrite::copy_chunks(const FrameEdit& edit, codec::BlockDecoder& decoder) {
  EditedIndex entries(edit, decoder);
  StoreWriter out(file_.get(), header_len_);
  out.append(reserve_);
  const auto uniform = entries.uniform_entry();
  const std::int64_t count = uniform && *uniform < 0 ? 0 : entries.count();
  std::vector<std::int64_t> some;
  for (std::int64_t first = 0; first < count; first += kEntriesAtOnce) {
    some.resize(static_cast<std::size_t>(std::min(kEntriesAtOnce, count - first)));
    entries.read(first, some);
    for (const std::int64_t entry : some) {
      if (entry < 0) continue;
      const std::uint64_t position = state_.header_len + static_cast<std::uint64_t>(entry);
      out.copy(*state_.file, position, chunk_size_at(*state_.file, position));
    }
  }
  out.flush();
  return out.position();
}

void CframeRewrite::write(const FrameEdit& edit, codec::BlockDecoder& decoder) {
  info_ = edit.info();
  info_.header_len = header_len_after(edit);
  header_len_ = static_cast<std::uint64_t>(info_.header_len);
  FrameTail tail(edit, decoder);
  if (info_.nchunks > 0 || edit.vlmetalayers().empty())
    // Reserves room for the trailer of the empty frame, which chunks leave free
    // (frame/INVARIANTS.md).
    reserve_ = plain_trailer(edit.keeps_checksums());
  if (info_.nchunks > 0)
    write_contents(edit, tail, decoder);
  else
    write_nothing(tail);
  header_ = write_header_after(edit, info_, tail.has_vlmetalayers(), *file_);
  file_->set_attributes(state_.file->attributes());
}

void CframeRewrite::write_contents(const FrameEdit& edit, FrameTail& tail,
                                   codec::BlockDecoder& decoder) {
  const std::uint64_t index_at = copy_chunks(edit, decoder);
  EditedIndex old(edit, decoder);
  PackedIndex entries(old, *file_, header_len_, header_len_ + reserve_.size());
  StoreWriter out(file_.get(), index_at);
  tail.write_index(entries, out);
  const std::uint64_t end = state_.notes.lengths.next_unused(out.position() + tail.trailer_len());
  out.skip_to(end - tail.trailer_len());
  tail.write_trailer(out);
  out.flush();
  info_.cbytes = static_cast<std::int64_t>(index_at - header_len_);
  info_.frame_len = static_cast<std::int64_t>(end);
}

void CframeRewrite::write_nothing(FrameTail& tail) {
  info_.cbytes = 0;
  info_.frame_len = static_cast<std::int64_t>(
      write_empty_trailer(tail, *file_, header_len_, state_.notes.lengths));
}

void CframeRewrite::flush() {
  // The old file may have got its name by a rename that is not durable yet. A power cut could then
  // lose both files.
  if (!published_) state_.directory->sync();
  // The contents need only one flush, before or after the rename. A temporary file may be published
  // before anything is flushed.
  if (!flushed_) file_->sync();
  flushed_ = true;
  if (published_ && !state_.name.empty()) state_.directory->sync_name(state_.name);
}

FileStamp CframeRewrite::publish(const std::optional<FileTimes>& times) {
  // Owner, mode and extended attributes may have changed since the file was written.
  file_->set_attributes(state_.file->attributes());
  if (times) file_->set_times(times->accessed, times->modified);
  // A frame that was removed while it is open has no name. The file that replaces it has none
  // either.
  if (state_.name.empty())
    directory_->unlink(name_);
  else
    take_name();
  published_ = true;
  if (!state_.name.empty()) remove_leftover();
  return file_->stamp();
}

bool CframeRewrite::can_publish() const {
  return state_.name.empty() || state_.directory->stamp(name_).has_value();
}

void CframeRewrite::take_name() {
  // replace_expected() exchanges the two names, and then compares the file that had the name. If
  // another program has put its own file there, it undoes the exchange.
  const bool has_taken =
      replace_expected(*state_.directory, name_, state_.name, [&](const FileStamp& replaced) {
        return replaced.inode == state_.file->stamp().inode &&
               state_.expected->matches(*state_.file);
      });
  if (!has_taken) throw_stale(state_.name);
}

/// Removes the old file, if it was exchanged with the new one, or the unfinished new file.
void CframeRewrite::remove_leftover() noexcept {
  try {
    if (directory_->stamp(name_)) directory_->unlink(name_);
  } catch (const std::exception&) {
    // A temporary name stays behind, as after a crash.
  }
}

void CframeRewrite::adopt() {
  state_.file = std::move(file_);
  state_.header_len = header_len_;
  // Expects the header that was written. A header that is read now may be another program's.
  state_.expected = std::make_shared<ExpectedState>(state_.file->stamp(), std::move(header_));
  state_.expected->end_writing(*state_.file);
  state_.reserve = std::move(reserve_);
  state_.notes.space =
      FrameSpace(static_cast<std::uint64_t>(info_.frame_len), 0, state_.settings.grace);
  state_.notes.lengths.add(static_cast<std::uint64_t>(info_.frame_len));
  open_current(state_);
}

}  // namespace bloscfs::frame::inline cframe
