#include "frame/sframe/sframe_commit.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "codec/error.hpp"
#include "frame/editing/frame_file.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline sframe {
namespace {

/// Most chunk files that are open until one flush syncs them together.
constexpr std::size_t kMaxUnsynced = 64;
/// Most chunk files that a slow directory may be storing. The directory has room for fewer at a
/// time, so this bound does not slow it down.
constexpr std::size_t kMaxBegun = 32;

}  // namespace

SframeCommit::SframeCommit(SframeState& state, ContainerLock lock)
    : state_(state), lock_(std::move(lock)) {
  if (state_.index) attributes_ = state_.index->attributes();
  state_.in_transaction = true;
}

SframeCommit::~SframeCommit() {
  if (finished_) return;
  take_back();
  state_.in_transaction = false;
}

void SframeCommit::remove_index_file() noexcept {
  if (!index_) return;
  index_.reset();
  try {
    state_.directory->unlink(index_name_);
  } catch (const std::exception&) {
    // A temporary name stays behind, as after a crash.
  }
}

void SframeCommit::take_back() noexcept {
  if (published_) {
    state_.broken = true;
    return;
  }
  remove_index_file();
  // No index has ever named these chunk files.
  while (!files_.empty()) remove_chunk_file(*files_.begin());
}

std::shared_ptr<StoreFile> SframeCommit::create_chunk_file(std::uint32_t& number) {
  for (;;) {
    number = take_number(state_, decoder_);
    try {
      auto file =
          state_.directory->create(chunk_file_name(number), state_.index ? 0600 : state_.mode);
      files_.insert(number);
      return file;
    } catch (const std::system_error& error) {
      // Another program has created a file of that number since the directory was read. A chunk
      // file must never be overwritten.
      if (error.code().value() != EEXIST) throw;
    }
  }
}

std::vector<std::int64_t> SframeCommit::store_chunks(std::span<const NumberedChunk> chunks) {
  std::vector<std::int64_t> numbers;
  try {
    for (const NumberedChunk& chunk : chunks) numbers.push_back(store_chunk(chunk.stored));
  } catch (const std::system_error&) {
    for (const std::int64_t number : numbers) remove_chunk_file(static_cast<std::uint32_t>(number));
    throw;
  }
  return numbers;
}

std::uint32_t SframeCommit::store_chunk(codec::Bytes stored) {
  std::uint32_t number = 0;
  const auto file = create_chunk_file(number);
  try {
    file->write_at(0, stored);
    if (state_.index) {
      // Every user who may read the index may read its chunks. The file is created with mode 0600,
      // so that no other user reads it before it has its owner.
      FileAttributes plain = attributes_;
      plain.extended.clear();
      plain.mode &= 0777;
      file->set_attributes(plain);
    }
  } catch (const std::system_error&) {
    remove_chunk_file(number);
    throw;
  }
  unsynced_.emplace_back(number, file);
  bound_unsynced();
  return number;
}

// Bounds the number of open files. Syncs them together, because a flush for each small chunk would
// take longer than everything else.
void SframeCommit::bound_unsynced() {
  if (state_.settings.shared) {
    while (unsynced_.size() > kMaxBegun) await_first();
    return;
  }
  if (unsynced_.size() <= kMaxUnsynced) return;
  try {
    sync_chunk_files();
  } catch (const std::exception&) {
    // The lost chunk files belong to earlier calls, which have returned. flush() has to report the
    // error.
    lost_chunks_ = true;
  }
}

/// Waits until the oldest chunk file is stored. In a shared directory, only storing the file shows
/// whether its number is already taken. The chunk then gets another number.
void SframeCommit::await_first() {
  const auto [number, file] = std::move(unsynced_.front());
  unsynced_.pop_front();
  try {
    try {
      file->sync();
    } catch (const std::system_error& error) {
      if (error.code().value() != EEXIST) throw;
      moved_[number] = store_elsewhere(*file);
      remove_chunk_file(number);
    }
  } catch (const std::system_error&) {
    // The chunk belongs to an earlier call, which has returned. flush() has to report the error.
    lost_chunks_ = true;
    throw;
  }
}

/// Stores the chunk once more, under a number that no other writer has taken.
std::uint32_t SframeCommit::store_elsewhere(const StoreFile& chunk) {
  std::vector<std::uint8_t> stored(static_cast<std::size_t>(chunk.stamp().size));
  chunk.read_exactly_at(0, stored, "chunk");
  constexpr int kTries = 16;
  for (int tries = 1;; tries++) {
    std::uint32_t number = 0;
    const auto file = create_chunk_file(number);
    try {
      file->write_at(0, stored);
      file->sync();
      return number;
    } catch (const std::system_error& error) {
      remove_chunk_file(number);
      if (error.code().value() != EEXIST || tries == kTries) throw;
    }
  }
}

std::map<std::int64_t, std::int64_t> SframeCommit::await_chunks() {
  while (state_.settings.shared && !unsynced_.empty()) await_first();
  return std::exchange(moved_, {});
}

void SframeCommit::sync_chunk_files() {
  std::vector<std::shared_ptr<StoreFile>> files;
  for (auto& [number, file] : std::exchange(unsynced_, {})) files.push_back(std::move(file));
  state_.directory->sync_files(files);
}

void SframeCommit::remove_chunk_file(std::uint32_t number) noexcept {
  std::erase_if(unsynced_, [&](const auto& file) { return file.first == number; });
  files_.erase(number);
  try {
    state_.directory->unlink(chunk_file_name(number));
  } catch (const std::exception&) {
    // A file without an index entry does no harm.
  }
}

void SframeCommit::discard_chunk(const PutChunk& chunk) {
  const auto moved = moved_.find(chunk.entry);
  const std::int64_t entry = moved == moved_.end() ? chunk.entry : moved->second;
  remove_chunk_file(static_cast<std::uint32_t>(entry));
}

/// Lists the chunk files that the new state does not use. Returns their stored bytes.
std::int64_t SframeCommit::collect_superseded(const FrameEdit& edit) {
  superseded_.clear();
  std::int64_t size = 0;
  edit.for_each_superseded(decoder_, [&](std::int64_t number, std::int64_t entry) {
    try {
      const ChunkPlace place = edit.base()->place_of(entry, number);
      superseded_.push_back(static_cast<std::uint32_t>(place.stored_offset));
      size += edit.base()->read_header(place).cbytes;
    } catch (const codec::Error&) {
      // A damaged entry names no file, or a file that is not a chunk. It adds nothing to the size.
    }
  });
  return size;
}

void SframeCommit::write_index_file(const FrameEdit& edit) {
  FrameTail tail(edit, decoder_);
  if (edit.base()) info_.header_len = header_len_after(edit);
  const auto index_at = static_cast<std::uint64_t>(info_.header_len);
  std::uint64_t end = 0;
  if (info_.nchunks > 0) {
    EditedIndex entries(edit, decoder_);
    StoreWriter out(index_.get(), index_at);
    tail.write_index(entries, out);
    end = state_.lengths.next_unused(out.position() + tail.trailer_len());
    out.skip_to(end - tail.trailer_len());
    tail.write_trailer(out);
    out.flush();
  } else {
    end = write_empty_trailer(tail, *index_, index_at, state_.lengths);
  }
  info_.frame_len = static_cast<std::int64_t>(end);
  if (edit.base()) {
    header_ = write_header_after(edit, info_, tail.has_vlmetalayers(), *index_);
  } else {
    header_ = first_header(state_.planned, info_, tail.has_vlmetalayers());
    index_->write_at(0, header_);
  }
}

void SframeCommit::write(FrameEdit& edit, const std::optional<FileTimes>& times) {
  remove_index_file();
  info_ = edit.info();
  std::int64_t cbytes = (edit.base() ? info_.cbytes : 0) - collect_superseded(edit);
  for (const auto& [number, chunk] : edit.chunks()) cbytes += chunk.cbytes;
  info_.cbytes = std::max<std::int64_t>(0, cbytes);
  // A new frame has no committed state yet, so its index can have its final name at once.
  index_name_ = edit.base() ? temporary_name() : kSframeIndexName;
  index_ = state_.directory->create(index_name_, edit.base() ? 0600 : state_.mode);
  write_index_file(edit);
  if (edit.base())
    index_->set_attributes(attributes_);
  else if (times)
    // flush() may already make a new frame visible, before publish() sets the times.
    index_->set_times(times->accessed, times->modified);
}

void SframeCommit::flush() {
  if (!published_) {
    if (lost_chunks_) throw_errno(EIO, "sync of a chunk file");
    sync_chunk_files();
    index_->sync();
    state_.directory->sync();
  } else if (state_.current) {
    state_.directory->sync_name(kSframeIndexName);
  }
}

FileStamp SframeCommit::publish(const std::optional<FileTimes>& times) {
  if (state_.current) {
    // The last check before the rename, which would replace another program's state.
    if (!state_.current->unchanged()) throw_errno(ESTALE, "changed by another program");
    // Owner and mode may have changed since this commit began.
    const FileAttributes now = state_.index->attributes();
    if (!now.equals_except_times(attributes_)) index_->set_attributes(now);
  }
  if (times) index_->set_times(times->accessed, times->modified);
  if (state_.current) {
    state_.expected->replace_file(header_, [&] {
      state_.directory->rename(index_name_, kSframeIndexName, RenameMode::replace);
      published_ = true;
      return index_->stamp();
    });
  }
  published_ = true;
  return index_->stamp();
}

std::shared_ptr<const Snapshot> SframeCommit::finish() {
  finished_ = true;
  state_.in_transaction = false;
  state_.lengths.add(static_cast<std::uint64_t>(info_.frame_len));
  state_.superseded.begin_state();
  std::vector<std::uint32_t> own;
  for (const std::uint32_t number : superseded_)
    // This writer gave out the numbers from first_own on, each to one chunk. Another program may
    // have named an older file in two entries.
    (state_.next_number && number >= state_.first_own ? own : state_.doubtful).push_back(number);
  state_.superseded.add(std::move(own));
  try {
    open_current(state_);
  } catch (...) {
    state_.broken = true;
    throw;
  }
  lock_ = {};
  return state_.current;
}

}  // namespace bloscfs::frame::inline sframe
