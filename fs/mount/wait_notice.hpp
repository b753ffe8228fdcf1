#pragma once
// Tells the user that a SOURCE which another process holds is waited for.

#include <chrono>
#include <string>

namespace bloscfs::fs {

/// Logs one message: at once where a mount that can write holds SOURCE, since that may last, and
/// names its mountpoint; else, where the holder has only to finish its work, after a second.
class WaitNotice {
 public:
  explicit WaitNotice(std::string source) : source_(std::move(source)) {}

  /// To be called before each wait, from one thread.
  void operator()();

 private:
  std::string source_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool told_ = false;
};

}  // namespace bloscfs::fs
