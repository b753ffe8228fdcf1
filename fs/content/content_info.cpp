// What a content's container says of itself, also before there is one.

#include "codec/bytes.hpp"
#include "frame/cframe/cframe_writer.hpp"
#include "fs/content/content.hpp"
#include "fs/encoding/new_frame.hpp"
#include "fs/support/lock_breaks.hpp"

namespace bloscfs::fs {
namespace {

bool can_be_array_in(ContentHome& home) {
  return Attempts::run([&] { return !home.lock_name()->names().array.empty(); });
}

}  // namespace

frame::FrameInfo Content::info() const {
  if (const auto known = snapshot()) return known->info();
  // Behind a commit that may be about to make it.
  const MutexLock commit_lock(commit_mutex_);
  if (const auto known = snapshot()) return known->info();
  ContentHome* const own = home();
  const bool can_be_array = own != nullptr && !services_.raw && can_be_array_in(*own);
  const ReadLock lock(mutex_);
  return planned_info(can_be_array && writers_ == 0);
}

frame::FrameInfo Content::planned_info(bool can_be_array) const {
  const NewContents contents{
      size_, [this](std::int64_t offset, codec::MutableBytes out) REQUIRES_SHARED(mutex_) {
        std::ranges::fill(out, std::uint8_t{0});
        live_.apply(offset, out);
      }};
  std::optional<frame::FrameSettings> settings;
  if (can_be_array) settings = array_frame_of(services_.options, contents);
  if (!settings) settings = new_flat_frame(services_.options, contents);
  frame::FrameInfo info = frame::plan_cframe(*settings);
  if (info.array) return info;
  info.nbytes = size_;
  info.nchunks = codec::ceil_div<std::int64_t>(size_, info.chunksize);
  return info;
}

}  // namespace bloscfs::fs
