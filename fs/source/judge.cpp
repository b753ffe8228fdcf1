#include "fs/source/judge.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/container/missing_decoder.hpp"
#include "frame/editing/carrier.hpp"
#include "frame/open/open.hpp"
#include "frame/pystore/python_store.hpp"
#include "frame/pystore/store_names.hpp"
#include "fs/view/attributes.hpp"
#include "fs/view/file_view.hpp"

namespace bloscfs::fs {
namespace {

using Health = Verdict::Health;

/// How many bytes may be read to judge a file.
constexpr std::uint64_t kReadLimit = 1 << 20;

/// Limits how much of a file is read, since a header can claim any size and must not block a
/// listing.
class LimitedSource final : public frame::ByteSource {
 public:
  LimitedSource(std::shared_ptr<const frame::ByteSource> source, std::uint64_t limit)
      : source_(std::move(source)), limit_(limit) {}

  std::size_t read_at(std::uint64_t offset, frame::MutableBytes out) const override {
    if (out.size() > limit_ - taken_)
      throw codec::Error(codec::FormatErrc::too_large,
                         fmt::format("needs more than {} bytes to be read", limit_));
    taken_ += out.size();
    return source_->read_at(offset, out);
  }
  frame::FileStamp stamp() const override { return source_->stamp(); }
  bool is_over_network() const override { return source_->is_over_network(); }
  void expect(std::span<const frame::ByteRange> ranges) const override { source_->expect(ranges); }
  bool is_available(std::span<const frame::ByteRange> ranges) const override {
    return source_->is_available(ranges);
  }

 private:
  const std::shared_ptr<const frame::ByteSource> source_;
  const std::uint64_t limit_;
  mutable std::uint64_t taken_ = 0;  ///< not atomic, since one thread judges a file
};

Verdict itself(std::int64_t size, Health health) {
  Verdict verdict;
  verdict.health = health;
  verdict.shown_size = verdict.stored_size = size;
  return verdict;
}

/// Judges a container by its header alone.
Verdict container(const frame::FrameInfo& info, std::int64_t file_size, Role role,
                  const JudgeSettings& settings) {
  const ViewShape shape = view_shape(info, settings.raw);
  Verdict verdict;
  verdict.kind = role == Role::index ? EntryKind::sparse_frame : EntryKind::frame;
  verdict.shown = shape.is_array ? ShownAs::array : ShownAs::flat;
  verdict.is_read_only = info.is_read_only();
  verdict.may_lack_contents = true;
  verdict.shown_size = shape.file_size();
  verdict.stored_size = file_size + (role == Role::index ? info.cbytes : 0);
  return verdict;
}

Verdict container(const frame::Snapshot& snapshot, Role role, const JudgeSettings& settings) {
  Verdict verdict = container(snapshot.info(), snapshot.stamp().size, role, settings);
  verdict.has_metalayers = has_listed_metalayers(snapshot);
  verdict.may_lack_contents = frame::may_lack_contents(snapshot);
  return verdict;
}

/// Returns the verdict on a file that is a store.
Verdict store(std::int64_t size, ShownAs shown) {
  Verdict verdict = itself(size, Health::sound);
  verdict.kind = EntryKind::store;
  verdict.shown = shown;
  verdict.is_read_only = true;
  return verdict;
}

/// A store directory is shown even if its embed.b2e needs a missing decoder: it has other files.
bool may_leave_out(Role role, const JudgeSettings& settings) {
  return settings.unsupported == UnsupportedFiles::hidden && role != Role::embed;
}

ReasonedVerdict judge_bytes(const Candidate& candidate, std::int64_t size,
                            const JudgeSettings& settings) {
  if (candidate.role == Role::zip && frame::zip_store_kind(candidate.bytes, {}))
    return {store(size, ShownAs::store), {}};
  const bool is_index = candidate.role == Role::index;
  const auto bytes = std::make_shared<const LimitedSource>(candidate.bytes, kReadLimit);
  // A remote frame is judged by its header alone. That is not enough to see whether an embed.b2e is
  // a store, or whether a decoder is missing (which matters unless such files are `refused`).
  const bool header_tells =
      candidate.role != Role::embed && settings.unsupported == UnsupportedFiles::refused;
  if (header_tells)
    if (const auto info = frame::peek_far_frame(*bytes, is_index ? 1 : 0))
      return {container(*info, size, candidate.role, settings), {}};
  const auto snapshot =
      is_index ? frame::open_index(bytes) : frame::open_file(bytes, {.stamp = candidate.stamp});
  if (snapshot) return judge(*snapshot, candidate.role, settings);
  return {itself(size, size == 0 ? Health::empty : Health::sound), {}};
}

}  // namespace

ShownAs promised(std::string_view full_name, bool is_directory, const JudgeSettings& settings) {
  const ShownAs shown = promised_by(full_name);
  if (is_directory && full_name.ends_with(kDirectoryStoreSuffix))
    return settings.stores ? ShownAs::store : ShownAs::itself;
  if (is_store(shown)) return settings.stores && !is_directory ? shown : ShownAs::itself;
  return shown == ShownAs::array && settings.raw ? ShownAs::flat : shown;
}

Role role_of(std::string_view full_name, const JudgeSettings& settings) {
  return settings.stores && full_name.ends_with(frame::kZipStoreSuffix) ? Role::zip : Role::file;
}

ReasonedVerdict judge(const Candidate& candidate, const JudgeSettings& settings) {
  const std::int64_t size = (candidate.stamp ? *candidate.stamp : candidate.bytes->stamp()).size;
  try {
    return judge_bytes(candidate, size, settings);
  } catch (const codec::Error& error) {
    const bool is_left_out =
        error.code() == codec::FormatErrc::unsupported && may_leave_out(candidate.role, settings);
    return {itself(size, is_left_out ? Health::left_out : Health::damaged), error.what()};
  }
}

ReasonedVerdict judge(const frame::Snapshot& snapshot, Role role, const JudgeSettings& settings) {
  const std::int64_t size = snapshot.stamp().size;
  const auto missing = frame::missing_decoder(snapshot);
  if (missing && settings.unsupported == UnsupportedFiles::raw)
    return {itself(size, Health::unsupported), *missing};
  if (role == Role::embed && !frame::store_kind(snapshot)) return {itself(size, Health::sound), {}};
  const bool is_file = role == Role::file || role == Role::zip;
  Verdict verdict = is_file && settings.stores && frame::is_embed_store(snapshot)
                        ? store(size, ShownAs::frame_store)
                        : container(snapshot, role, settings);
  if (missing)
    verdict.health = may_leave_out(role, settings) ? Health::left_out : Health::unsupported;
  if (role == Role::embed) {
    verdict.kind = EntryKind::store_directory;
    verdict.shown = ShownAs::store;
    verdict.is_read_only = false;
    verdict.has_embedded =
        snapshot.source()->is_over_network() || frame::may_have_embedded(snapshot);
  }
  return {verdict, verdict.is_left_out() ? *missing : std::string()};
}

}  // namespace bloscfs::fs
