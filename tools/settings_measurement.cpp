#include "tools/settings_measurement.hpp"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "codec/block_decoder.hpp"
#include "codec/chunk.hpp"
#include "codec/chunk_encoder.hpp"
#include "codec/error.hpp"
#include "tools/interrupt.hpp"

namespace bloscfs::tools {
namespace {

using MeasurementClock = std::chrono::steady_clock;

/// Returns the processor time of this thread in seconds.
double thread_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct TrialOutcome {
  std::size_t contents = 0, stored = 0;
  double encode_time = 0, decode_time = 0;  ///< seconds
  bool is_done = false;
};

/// The memory that one thread reuses for its trials.
class SettingsTrial {
 public:
  TrialOutcome run(codec::Bytes piece, const codec::EncodeSettings& settings) {
    const auto typesize = static_cast<std::size_t>(settings.typesize);
    const codec::Bytes contents =
        piece.size() < typesize ? piece : piece.first(piece.size() - piece.size() % typesize);
    codec::ChunkEncoder encoder(settings);
    // A quick first run is repeated, because it also has to fill the codec's memory and the
    // processor's caches. Of the two runs of the decoder below, the second one counts.
    TrialOutcome outcome = encode(encoder, contents);
    if (outcome.encode_time < kQuick) outcome = encode(encoder, contents);
    const auto chunk = codec::open_chunk(stored_, settings.typesize);
    decoded_.resize(contents.size());
    for (int i = 0; i < 2; i++) {
      const double begin = thread_time();
      decoder_.decode_all(chunk, stored_, decoded_);
      outcome.decode_time = thread_time() - begin;
    }
    if (!std::ranges::equal(decoded_, contents))
      codec::throw_malformed("a sample changed by encoding and decoding: the settings lose data");
    return outcome;
  }

 private:
  static constexpr double kQuick = 0.1;  ///< seconds

  TrialOutcome encode(codec::ChunkEncoder& encoder, codec::Bytes contents) {
    const double begin = thread_time();
    stored_ = encoder.encode_stored(contents);
    return {contents.size(), stored_.size(), thread_time() - begin, 0, true};
  }

  codec::BlockDecoder decoder_;
  std::vector<std::uint8_t> stored_, decoded_;
};

class SettingsMeasurement {
 public:
  SettingsMeasurement(std::span<const codec::Bytes> pieces,
                      std::span<const codec::EncodeSettings> settings,
                      MeasurementClock::time_point deadline)
      : pieces_(pieces),
        settings_(settings),
        deadline_(deadline),
        outcomes_(pieces.size() * settings.size()) {}

  void run() {
    const std::size_t wanted = std::max(1U, std::thread::hardware_concurrency());
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < std::min(wanted, outcomes_.size()); i++)
        threads.emplace_back([this] { work(); });
    }
    throw_if_interrupted();
    if (error_) std::rethrow_exception(error_);
  }

  /// Returns the results over those pieces that all measured settings have encoded.
  std::vector<MeasuredSettings> results() const {
    std::size_t rounds = pieces_.size();
    for (std::size_t i = 0; i < settings_.size(); i++)
      if (outcomes_[i].is_done) rounds = std::min(rounds, rounds_of(i));
    std::vector<MeasuredSettings> results;
    for (std::size_t i = 0; i < settings_.size(); i++)
      if (outcomes_[i].is_done) results.push_back(sum(i, rounds));
    return results;
  }

 private:
  void work() {
    try {
      SettingsTrial trial;
      for (;;) {
        const std::size_t next = next_++;
        const bool is_late = next > 0 && MeasurementClock::now() >= deadline_;
        if (next >= outcomes_.size() || is_late) return;
        throw_if_interrupted();
        const std::size_t which = next % settings_.size();
        outcomes_[next] = trial.run(pieces_[next / settings_.size()], settings_[which]);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
      next_ = outcomes_.size();
    }
  }

  /// Returns how many pieces the settings have encoded, counted from the first piece.
  std::size_t rounds_of(std::size_t which) const {
    std::size_t rounds = 0;
    while (rounds < pieces_.size() && outcomes_[rounds * settings_.size() + which].is_done)
      rounds++;
    return rounds;
  }

  MeasuredSettings sum(std::size_t which, std::size_t rounds) const {
    TrialOutcome all;
    for (std::size_t round = 0; round < rounds; round++) {
      const TrialOutcome& outcome = outcomes_[round * settings_.size() + which];
      all.contents += outcome.contents;
      all.stored += outcome.stored;
      all.encode_time += outcome.encode_time;
      all.decode_time += outcome.decode_time;
    }
    const auto contents = static_cast<double>(all.contents);
    const auto speed = [&](double time) { return contents / 1e6 / std::max(time, 1e-9); };
    return {settings_[which], contents / static_cast<double>(all.stored), speed(all.encode_time),
            speed(all.decode_time), false};
  }

  std::span<const codec::Bytes> pieces_;
  std::span<const codec::EncodeSettings> settings_;
  MeasurementClock::time_point deadline_;
  std::vector<TrialOutcome> outcomes_;  ///< all settings with piece 0, then with piece 1
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr error_;
};

void mark_front(std::vector<MeasuredSettings>& all) {
  for (MeasuredSettings& one : all)
    one.on_front = std::ranges::none_of(all, [&](const MeasuredSettings& other) {
      return other.ratio >= one.ratio && other.encode >= one.encode && other.decode >= one.decode &&
             (other.ratio > one.ratio || other.encode > one.encode || other.decode > one.decode);
    });
}

}  // namespace

std::vector<MeasuredSettings> measure_settings(std::span<const codec::Bytes> pieces,
                                               std::span<const codec::EncodeSettings> settings,
                                               MeasurementClock::time_point deadline) {
  SettingsMeasurement measurement(pieces, settings, deadline);
  measurement.run();
  std::vector<MeasuredSettings> results = measurement.results();
  mark_front(results);
  return results;
}

}  // namespace bloscfs::tools
