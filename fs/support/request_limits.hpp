#pragma once
// What ends a request before it is done: its sender has given up, or it has cost too much. A file
// decides what a byte of it costs, and nobody else may have to wait for that.

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <system_error>

#include "frame/store/interruption.hpp"

namespace bloscfs::fs {

/// EINTR or EFBIG. Says nothing of the file: whoever waits for what was being made makes it.
class RequestEnded : public std::system_error {
 public:
  using std::system_error::system_error;
};

/// True where its sender has given up.
bool is_interruption(const std::exception& error);

/// While one lives, its thread serves a request that may be ended. One at a time in a thread.
class RequestLimits {
 public:
  /// What one request may use of the processor.
  static constexpr std::chrono::milliseconds kMost{2000};

  /// How often who waits for others calls check(): a user who interrupts does not feel it.
  static constexpr std::chrono::milliseconds kBetweenChecks = frame::Interruption::kBetweenChecks;

  /// What is far away: whoever decodes ahead of others is to go on with what is at hand.
  enum class Far : std::uint8_t { is_waited_for, ends_it };

  /// `is_interrupted` is asked now and then.
  explicit RequestLimits(std::function<bool()> is_interrupted,
                         std::chrono::milliseconds most = kMost, Far far = Far::is_waited_for);
  ~RequestLimits();
  RequestLimits(const RequestLimits&) = delete;
  RequestLimits& operator=(const RequestLimits&) = delete;

  /// Throws RequestEnded where the thread's request, if it serves one, is interrupted, or has used
  /// the processor for longer than `most` since the first call. Called before each step of long
  /// work.
  static void check();

 private:
  const std::function<bool()> is_interrupted_;
  const std::chrono::milliseconds most_;
  std::chrono::nanoseconds began_{0};  ///< by the thread's processor time
  const frame::Interruption interruption_;
};

}  // namespace bloscfs::fs
