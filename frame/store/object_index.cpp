#include "frame/store/object_index.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <ctime>
#include <optional>
#include <random>
#include <span>

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline store {
namespace {

std::atomic<std::uint64_t> next_number{1};

std::optional<std::int64_t> number_in(const ObjectState& state, const char* name, int base) {
  const auto found = state.metadata.find(name);
  if (found == state.metadata.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<timespec> time_in(const ObjectState& state) {
  const auto found = state.metadata.find("mtime");
  if (found == state.metadata.end()) return std::nullopt;
  const std::string& text = found->second;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr double kMost = 1e11;
  if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0) ||
      seconds > kMost)
    return std::nullopt;
  const std::size_t point = std::min(text.find('.'), text.size());
  timespec time{static_cast<time_t>(seconds), 0};
  // A double is too imprecise for nanoseconds.
  std::string fraction = text.substr(std::min(point + 1, text.size()), 9);
  fraction.resize(9, '0');
  std::from_chars(fraction.data(), fraction.data() + fraction.size(), time.tv_nsec);
  return time;
}

std::size_t copy_from(const std::vector<std::uint8_t>& bytes, std::uint64_t offset,
                      MutableBytes out) {
  if (offset >= bytes.size()) return 0;
  const std::size_t size = std::min(out.size(), bytes.size() - static_cast<std::size_t>(offset));
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), size, out.begin());
  return size;
}

void apply(timespec& time, const timespec& wanted) {
  if (wanted.tv_nsec == UTIME_OMIT) return;
  if (wanted.tv_nsec == UTIME_NOW)
    ::clock_gettime(CLOCK_REALTIME, &time);
  else
    time = wanted;
}

}  // namespace

std::string commit_of(const ObjectState& state) {
  const auto found = state.metadata.find(kCommit);
  return found == state.metadata.end() ? std::string() : found->second;
}

std::string new_commit_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; i++) id += fmt::format("{:08x}", random());
  return id;
}

void stamp_index(std::vector<std::uint8_t>& index, const std::string& commit) {
  constexpr std::size_t kFingerprint = 16, kMarker = kFingerprint + 2;
  constexpr std::uint8_t kFixext16 = 0xD8;
  if (index.size() < kMarker || commit.size() != 2 * kFingerprint) return;
  const std::span<std::uint8_t> end = std::span(index).last(kMarker);
  // A trailer ends with its fingerprint, as a msgpack extension of type 0 with 16 bytes.
  if (end[0] != kFixext16 || end[1] != 0) return;
  for (std::size_t i = 0; i < kFingerprint; i++)
    std::from_chars(commit.data() + 2 * i, commit.data() + 2 * i + 2, end[2 + i], 16);
}

std::map<std::string, std::string> metadata_of(const FileAttributes& attributes) {
  return {
      {"mode", fmt::format("{:04o}", attributes.mode & 0777)},
      {"uid", std::to_string(attributes.owner)},
      {"gid", std::to_string(attributes.group)},
      {"mtime", fmt::format("{}.{:09}", attributes.modified.tv_sec, attributes.modified.tv_nsec)}};
}

std::map<std::string, std::string> metadata_of_tombstone(const std::string& commit) {
  std::array<char, HOST_NAME_MAX + 1> host{};
  std::string name = ::gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "";
  // HTTP headers allow only printable ASCII.
  std::erase_if(name, [](char c) { return c <= ' ' || c > '~'; });
  return {{kCommit, commit}, {"host", name}, {"time", std::to_string(::time(nullptr))}};
}

FileAttributes attributes_of(const ObjectState& state) {
  FileAttributes attributes;
  attributes.owner = static_cast<uid_t>(number_in(state, "uid", 10).value_or(::geteuid()));
  attributes.group = static_cast<gid_t>(number_in(state, "gid", 10).value_or(::getegid()));
  attributes.mode = static_cast<mode_t>(number_in(state, "mode", 8).value_or(0644)) & 0777;
  attributes.modified = time_in(state).value_or(timespec{state.modified, 0});
  attributes.accessed = attributes.modified;
  return attributes;
}

ObjectIndex::ObjectIndex(mode_t mode) : number_(next_number++) {
  attributes_.owner = ::geteuid();
  attributes_.group = ::getegid();
  attributes_.mode = mode & 0777;
  ::clock_gettime(CLOCK_REALTIME, &attributes_.modified);
  attributes_.accessed = attributes_.modified;
}

ObjectIndex::ObjectIndex(std::shared_ptr<const ObjectSource> source)
    : source_(std::move(source)),
      number_(next_number++),
      attributes_(attributes_of(source_->state())) {}

std::size_t KeptIndex::read_at(std::uint64_t offset, MutableBytes out) const {
  return copy_from(bytes_, offset, out);
}

FileStamp KeptIndex::stamp() const {
  FileStamp stamp;
  stamp.size = static_cast<std::int64_t>(bytes_.size());
  return stamp;
}

std::vector<std::uint8_t> ObjectIndex::bytes() const {
  if (source_) {
    std::vector<std::uint8_t> all(source_->state().size);
    source_->read_exactly_at(0, all, "index");
    return all;
  }
  const std::lock_guard guard(mutex_);
  return bytes_;
}

std::size_t ObjectIndex::read_at(std::uint64_t offset, MutableBytes out) const {
  if (source_) return source_->read_at(offset, out);
  const std::lock_guard guard(mutex_);
  return copy_from(bytes_, offset, out);
}

FileStamp ObjectIndex::stamp() const {
  FileStamp stamp;
  stamp.inode = number_;
  const std::lock_guard guard(mutex_);
  stamp.size = static_cast<std::int64_t>(source_ ? source_->state().size : bytes_.size());
  return stamp;
}

void ObjectIndex::require_own() const {
  if (source_) throw_errno(EROFS, "an index that is stored");
}

void ObjectIndex::write_at(std::uint64_t offset, Bytes bytes) {
  require_own();
  const std::lock_guard guard(mutex_);
  const auto end = static_cast<std::size_t>(offset) + bytes.size();
  if (bytes_.size() < end) bytes_.resize(end);
  std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
}

void ObjectIndex::truncate(std::uint64_t size) {
  require_own();
  const std::lock_guard guard(mutex_);
  bytes_.resize(static_cast<std::size_t>(size));
}

void ObjectIndex::punch(std::uint64_t offset, std::uint64_t size) {
  require_own();
  const std::lock_guard guard(mutex_);
  const auto begin = std::min<std::uint64_t>(offset, bytes_.size());
  const auto end = std::min<std::uint64_t>(offset + size, bytes_.size());
  std::fill(bytes_.begin() + static_cast<std::ptrdiff_t>(begin),
            bytes_.begin() + static_cast<std::ptrdiff_t>(end), std::uint8_t{0});
}

FileAttributes ObjectIndex::attributes() const {
  const std::lock_guard guard(mutex_);
  return attributes_;
}

void ObjectIndex::set_attributes(const FileAttributes& attributes) {
  const std::lock_guard guard(mutex_);
  attributes_.owner = attributes.owner;
  attributes_.group = attributes.group;
  attributes_.mode = attributes.mode & 0777;
}

void ObjectIndex::set_times(const timespec& accessed, const timespec& modified) {
  const std::lock_guard guard(mutex_);
  apply(attributes_.accessed, accessed);
  apply(attributes_.modified, modified);
}

}  // namespace bloscfs::frame::inline store
