#pragma once
// Readers of frames in memory, for tests of the code that reads them.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "codec/error.hpp"
#include "frame/cframe/cframe.hpp"
#include "fs/view/file_view.hpp"
#include "tests/frame/frame_builder.hpp"
#include "tests/support/pause.hpp"

namespace bloscfs::test {

using frame::test::Buffer;
using frame::test::FrameBuilder;
using SharedSnapshot = std::shared_ptr<const frame::Snapshot>;

/// A source for several threads. It records how many large reads ran at the same time.
class BusySource final : public frame::ByteSource {
 public:
  explicit BusySource(Buffer bytes) : bytes_(std::move(bytes)) {}

  std::size_t read_at(std::uint64_t offset, frame::MutableBytes out) const override {
    if (out.size() >= kLarge) {
      most_ = std::max<int>(most_, ++now_);
      simulate_delay(std::chrono::milliseconds(20));
      now_--;
    }
    if (offset >= bytes_.size()) return 0;
    const std::size_t size = std::min<std::size_t>(out.size(), bytes_.size() - offset);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), size, out.begin());
    return size;
  }
  frame::FileStamp stamp() const override {
    return {1, 1, static_cast<std::int64_t>(bytes_.size()), 0};
  }
  int most_at_once() const { return most_; }

 private:
  static constexpr std::size_t kLarge = 512 << 10;
  Buffer bytes_;
  mutable std::atomic<int> now_{0}, most_{0};
};

/// Makes the b2nd metalayer of an array of bytes.
inline Buffer array_layer(const std::vector<std::int64_t>& shape,
                          const std::vector<std::int32_t>& chunks,
                          const std::vector<std::int32_t>& blocks) {
  const auto dimensions = static_cast<std::uint8_t>(shape.size());
  Buffer out = {0x97, 0, dimensions, static_cast<std::uint8_t>(0x90 + dimensions)};
  for (const std::int64_t extent : shape) {
    out.push_back(0xd3);
    frame::test::put_big(out, static_cast<std::uint64_t>(extent), 8);
  }
  for (const auto& extents : {chunks, blocks}) {
    out.push_back(static_cast<std::uint8_t>(0x90 + dimensions));
    for (const std::int32_t extent : extents) {
      out.push_back(0xd2);
      frame::test::put_big(out, static_cast<std::uint32_t>(extent), 4);
    }
  }
  for (const int byte : {0, 0xdb, 0, 0, 0, 3, int{'|'}, int{'u'}, int{'1'}})
    out.push_back(static_cast<std::uint8_t>(byte));
  return out;
}

/// Makes a frame that repeats one chunk.
inline FrameBuilder repeated(const Buffer& chunk, std::int32_t chunksize, std::size_t times) {
  FrameBuilder frame;
  frame.chunksize = frame.blocksize = chunksize;
  frame.add(chunk, static_cast<std::size_t>(chunksize));
  frame.entries.assign(times, 0);
  frame.nbytes = std::int64_t{chunksize} * static_cast<std::int64_t>(times);
  return frame;
}

inline bool is_too_large(const codec::Error& error) {
  return error.code() == codec::FormatErrc::too_large;
}

inline bool is_malformed_frame(const codec::Error& error) {
  return error.code() == codec::FormatErrc::malformed;
}

/// The position of a sequential reader that has not read anything, for prefetch().
inline const std::atomic<std::int64_t> not_reached{0};

struct ReaderFixture {
  fs::FileView view(SharedSnapshot snapshot, bool raw = true) {
    fs::ViewShape shape = fs::view_shape(snapshot->info(), raw);
    content_ += 2;
    fs::FrameReader reader(std::move(snapshot), content_, content_ + 1, cache, stats, settings);
    return fs::FileView(request, std::move(shape), std::move(reader));
  }
  fs::FileView view(const FrameBuilder& frame) {
    return view(SharedSnapshot(frame::test::open_bytes(frame.build())));
  }

  Buffer read(const fs::FileView& view, std::int64_t offset, std::int64_t size) {
    fs::ReplyData reply(pages);
    view.read(request, offset, size, reply);
    Buffer out(reply.size());
    reply.copy_to(out);
    return out;
  }

  fs::Request request;
  fs::Stats stats;
  fs::PagePool pages;
  fs::BlockCache cache{32 << 20, pages, stats};
  fs::ReaderSettings settings{false, fs::Work::kRequestLimit};

 private:
  std::uint64_t content_ = 0;
};

}  // namespace bloscfs::test
