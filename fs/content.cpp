#include "fs/content.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "codec/error.hpp"
#include "frame/frame_writer.hpp"

namespace bloscfs::fs {
namespace {

[[noreturn]] void fail(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), what);
}

timespec now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

}  // namespace

void Content::Layer::apply(std::int64_t offset, codec::MutableBytes out) const {
  const std::int64_t end = offset + static_cast<std::int64_t>(out.size());
  if (end > lower_end) {
    const std::int64_t from = std::max(offset, lower_end);
    std::memset(out.data() + (from - offset), 0, static_cast<std::size_t>(end - from));
  }
  bytes.apply(offset, out);
}

void Content::Layer::merge(const Layer& upper) {
  if (upper.lower_end < lower_end) lower_end = upper.lower_end;
  bytes.truncate(upper.lower_end);
  bytes.merge(upper.bytes);
  for (const auto& [name, value] : upper.vlmetalayers) vlmetalayers[name] = value;
}

Content::Layer Content::Layer::split_off_first(std::size_t least) {
  Layer first;
  first.bytes = bytes.split_off_first(least);
  first.lower_end = std::exchange(lower_end, Layer().lower_end);
  first.vlmetalayers = std::exchange(vlmetalayers, {});
  return first;
}

Content::Content(ContentServices services, std::shared_ptr<const frame::Snapshot> snapshot)
    : services_(services), id_(services.next_id++) {
  const WriteLock lock(mutex_);
  set_view(std::move(snapshot));
  size_ = view_->size();
}

Content::Content(ContentServices services, const timespec& created)
    : services_(services), id_(services.next_id++) {
  const WriteLock lock(mutex_);
  changed_ = modified_ = accessed_ = created;
  view_is_settled_ = false;
  is_new_ = true;
}

Content::~Content() {
  services_.budget.change(accounted_, 0);
  services_.cache.charge(charged_, 0);
}

void Content::set_view(std::shared_ptr<const frame::Snapshot> snapshot) {
  snapshot_ = std::move(snapshot);
  view_ = std::make_unique<const FileView>(
      view_shape(snapshot_->info(), services_.raw),
      FrameReader(snapshot_, id_, services_.next_id++, services_.cache, services_.stats,
                  services_.reader));
}

// --- reading

std::int64_t Content::size() const {
  const ReadLock lock(mutex_);
  return size_;
}

LogicalAttributes Content::attributes() const {
  const ReadLock lock(mutex_);
  return {size_, accessed_, modified_, changed_};
}

std::shared_ptr<const frame::Snapshot> Content::snapshot() const {
  const ReadLock lock(mutex_);
  return snapshot_;
}

std::int64_t Content::committed_size() const { return view_ ? view_->size() : 0; }

bool Content::is_untouched(std::int64_t offset, std::int64_t size) const {
  return !live_.hides(offset, size) && !(frozen_ && frozen_->hides(offset, size)) &&
         offset + size <= committed_size();
}

void Content::read_committed(const FileView* view, std::int64_t offset, codec::MutableBytes out) {
  const auto wanted = static_cast<std::int64_t>(out.size());
  const std::int64_t size = view == nullptr ? 0 : view->size();
  const std::int64_t there = std::clamp<std::int64_t>(size - offset, 0, wanted);
  if (there > 0) {
    ReplyData data;
    view->read(offset, there, data);
    data.copy_to(out.first(static_cast<std::size_t>(there)));
  }
  std::fill(out.begin() + there, out.end(), std::uint8_t{0});
}

void Content::read(std::int64_t offset, std::int64_t size, ReplyData& out) const {
  const ReadLock lock(mutex_);
  size = std::min(size, size_ - std::min(offset, size_));
  if (size <= 0) return;
  if (is_untouched(offset, size)) return view_->read(offset, size, out);
  const codec::MutableBytes bytes = out.add_owned(static_cast<std::size_t>(size));
  read_committed(view_.get(), offset, bytes);
  if (frozen_) frozen_->apply(offset, bytes);
  live_.apply(offset, bytes);
}

void Content::prefetch(std::int64_t offset, std::int64_t size,
                       const std::atomic<std::int64_t>& reached) const {
  const ReadLock lock(mutex_);
  size = std::min(size, committed_size() - offset);
  if (size > 0 && is_untouched(offset, size)) view_->prefetch(offset, size, reached);
}

std::optional<std::int64_t> Content::seek_data(std::int64_t offset) const {
  return seek(offset, false);
}

std::optional<std::int64_t> Content::seek_hole(std::int64_t offset) const {
  return seek(offset, true);
}

std::optional<std::int64_t> Content::seek(std::int64_t offset, bool want_hole) const {
  const ReadLock lock(mutex_);
  if (offset < 0 || offset >= size_) return std::nullopt;
  if (view_ && live_.empty() && !frozen_ && size_ == committed_size())
    return want_hole ? view_->seek_hole(offset) : view_->seek_data(offset);
  // Until it is committed all of a changed file counts as data, which is always allowed.
  return want_hole ? size_ : offset;
}

// --- writing

void Content::make_writable(std::shared_ptr<ContentHome> home) {
  const MutexLock commit_lock(commit_mutex_);
  home_ = std::move(home);
  std::shared_ptr<const frame::Snapshot> known = snapshot();
  if (writer_ || !known) return;
  if (known->info().kind == frame::ContainerKind::bloscpack) fail(EROFS, "Bloscpack file");
  const auto name_lock = home_->lock_name();
  const StoredPlace& place = name_lock->place();
  writer_ = open_writer(place, known->info().kind == frame::ContainerKind::sframe, known);
}

std::unique_ptr<frame::FrameWriter> Content::open_writer(
    const StoredPlace& place, bool is_sparse,
    const std::shared_ptr<const frame::Snapshot>& known) const {
  const frame::WriterSettings settings{services_.options.locking};
  return is_sparse ? frame::open_sframe_writer(place.directory, place.name, settings, known)
                   : frame::open_cframe_writer(place.directory, place.name, settings, known);
}

void Content::touch() {
  // With its writeback cache the kernel says when a file was changed.
  if (!services_.options.writeback) changed_ = modified_ = now();
}

void Content::account() {
  const std::size_t frozen = frozen_ ? frozen_->bytes.memory() : 0;
  const std::size_t memory = live_.bytes.memory() + frozen;
  services_.cache.charge(std::exchange(charged_, memory), memory);
  // Nobody may wait for what will never be committed or staged.
  const std::size_t waiting = is_orphan_ && writers_ == 0 ? 0 : memory - std::min(frozen, stored_);
  services_.budget.change(accounted_, waiting);
  accounted_ = waiting;
}

void Content::count_stored(std::size_t bytes) {
  const WriteLock lock(mutex_);
  stored_ += bytes;
  account();
}

void Content::check_writable(std::int64_t end) const {
  if (!services_.raw || !snapshot_ || !snapshot_->info().array || end == size_) return;
  // Without a NPY header an array can only become longer, by whole rows.
  const frame::ArrayInfo& array = *snapshot_->info().array;
  std::int64_t row = snapshot_->info().typesize;
  for (std::size_t i = 1; i < array.shape.size(); i++) row *= array.shape[i];
  if (array.shape.empty() || row == 0 || end < size_ || end % row != 0)
    fail(EINVAL, "size of an array");
}

void Content::write(std::optional<std::int64_t> at, codec::Bytes bytes) {
  write_at(at, bytes.size(),
           [&](ByteOverlay& overlay, std::int64_t offset) { overlay.write(offset, bytes); });
}

void Content::write(std::optional<std::int64_t> at, std::span<CellBytes> cells) {
  std::size_t count = 0;
  for (const CellBytes& cell : cells) count += cell.size();
  write_at(at, count, [&](ByteOverlay& overlay, std::int64_t offset) {
    for (CellBytes& cell : cells) {
      const auto size = static_cast<std::int64_t>(cell.size());
      overlay.write(offset, cell);
      offset += size;
    }
  });
}

template <typename Write>
void Content::write_at(std::optional<std::int64_t> at, std::size_t count, const Write& write) {
  if (count == 0) return;
  const auto size = static_cast<std::int64_t>(count);
  services_.budget.wait_for_room();
  const WriteLock lock(mutex_);
  const std::int64_t offset = at.value_or(size_);
  if (offset > std::numeric_limits<std::int64_t>::max() - size) fail(EFBIG, "write");
  check_writable(std::max(size_, offset + size));
  write(live_.bytes, offset);
  size_ = std::max(size_, offset + size);
  view_is_settled_ = false;
  touch();
  account();
}

void Content::resize(std::int64_t size) {
  if (size < 0) fail(EINVAL, "truncate");
  bool is_same = false;
  {
    const WriteLock lock(mutex_);
    check_writable(size);
    is_same = size == size_;
    if (size < size_) {
      live_.bytes.truncate(size);
      live_.lower_end = std::min(live_.lower_end, size);
    }
    if (!is_same) view_is_settled_ = false;
    size_ = size;
    touch();
    account();
  }
  if (!is_same) return;
  // There may be nothing to commit but the time.
  const MutexLock commit_lock(commit_mutex_);
  store_times();
}

void Content::zero(std::int64_t offset, std::int64_t size) {
  const WriteLock lock(mutex_);
  const std::int64_t end = std::min(size_, offset + std::min(size, size_));
  if (end <= offset) return;
  live_.bytes.zero(offset, end - offset);
  view_is_settled_ = false;
  touch();
  account();
}

void Content::set_vlmetalayer(const std::string& name,
                              std::optional<std::vector<std::uint8_t>> value) {
  const WriteLock lock(mutex_);
  live_.vlmetalayers[name] = std::move(value);
  changed_ = now();
}

std::map<std::string, std::optional<std::vector<std::uint8_t>>> Content::uncommitted_vlmetalayers()
    const {
  const ReadLock lock(mutex_);
  auto layers = live_.vlmetalayers;
  if (frozen_) layers.insert(frozen_->vlmetalayers.begin(), frozen_->vlmetalayers.end());
  return layers;
}

std::optional<std::optional<std::vector<std::uint8_t>>> Content::uncommitted_vlmetalayer(
    const std::string& name) const {
  const ReadLock lock(mutex_);
  if (const auto found = live_.vlmetalayers.find(name); found != live_.vlmetalayers.end())
    return found->second;
  if (!frozen_) return std::nullopt;
  const auto found = frozen_->vlmetalayers.find(name);
  if (found == frozen_->vlmetalayers.end()) return std::nullopt;
  return found->second;
}

bool Content::set_times(const timespec& accessed, const timespec& modified) {
  const MutexLock commit_lock(commit_mutex_);
  if (!home_ && !is_orphan()) return false;
  {
    const WriteLock lock(mutex_);
    accessed_ = accessed;
    modified_ = modified;
    changed_ = now();
  }
  store_times();
  return true;
}

void Content::store_times() {
  if (!writer_) return;
  const LogicalAttributes times = attributes();
  // Locked before the file changes: else it would be taken for somebody else's change.
  const auto name_lock = home_->lock_name();
  writer_->set_times(times.accessed.value_or(kUnchangedTime),
                     times.modified.value_or(kUnchangedTime));
  name_lock->refresh();
}

void Content::add_writer() {
  const WriteLock lock(mutex_);
  writers_++;
}

void Content::remove_writer() {
  const WriteLock lock(mutex_);
  writers_--;
  account();
}

bool Content::has_writers() const {
  const ReadLock lock(mutex_);
  return writers_ > 0;
}

void Content::hold_flat(bool held) {
  const WriteLock lock(mutex_);
  held_flat_ += held ? 1 : -1;
  view_is_settled_ = false;
}

void Content::look_again() {
  const WriteLock lock(mutex_);
  view_is_settled_ = false;
}

void Content::orphan() {
  const WriteLock lock(mutex_);
  is_orphan_ = true;
  account();
}

bool Content::is_orphan() const {
  const ReadLock lock(mutex_);
  return is_orphan_;
}

bool Content::can_be_staged(std::size_t least_dirty) const {
  const ReadLock lock(mutex_);
  const bool is_hidden = is_orphan_ || (is_new_ && !is_unsettled_);
  return is_hidden && writers_ > 0 && live_.bytes.memory() >= least_dirty;
}

bool Content::needs_commit() const {
  const ReadLock lock(mutex_);
  if (is_orphan_) return false;
  return is_new_ || is_unsettled_ || !live_.empty() || frozen_ || size_ != committed_size() ||
         (!view_is_settled_ && writers_ == 0);
}

std::error_code Content::take_error() {
  const WriteLock lock(mutex_);
  return std::exchange(error_, std::error_code());
}

}  // namespace bloscfs::fs
