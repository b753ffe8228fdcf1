// Chunks that the tools encode on worker threads.

#include "tools/chunk_pipeline.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include <boost/test/unit_test.hpp>

namespace bloscfs::test {
namespace {

constexpr std::chrono::seconds kTimeout{30};

/// A point where two threads meet.
class Meeting {
 public:
  /// Waits for the other thread. Returns false if it does not come.
  bool attend() {
    std::unique_lock lock(mutex_);
    attending_++;
    arrived_.notify_all();
    return arrived_.wait_for(lock, kTimeout, [this] { return attending_ >= 2; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  int attending_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(chunk_pipeline)

BOOST_AUTO_TEST_CASE(two_workers_encode_at_the_same_time_however_large_the_chunks) {
  codec::EncodeSettings settings;
  settings.codec = codec::CodecId::lz4;
  for (const std::size_t chunk_size : {std::size_t{128} << 10, std::size_t{4} << 20}) {
    Meeting meeting;
    std::atomic<bool> have_met{true};
    std::size_t stored = 0;
    tools::ChunkPipeline pipeline(settings, 2, [&](const fs::RecodedChunk&) { stored++; });
    const auto fill = [&](codec::MutableBytes contents) {
      if (!meeting.attend()) have_met = false;
      std::fill(contents.begin(), contents.end(), std::uint8_t{0});
    };
    // The second chunk is encoded only once the third one is added, since the pipeline collects
    // chunks.
    for (int i = 0; i < 3; i++) pipeline.add_filled(chunk_size, fill);
    pipeline.finish();
    BOOST_TEST(have_met, "chunks of " << chunk_size);
    BOOST_TEST(stored == 3u);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
