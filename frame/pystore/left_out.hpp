#pragma once
// Records what a reader of hostile input has left out, for the log: the first messages, and how
// many more there were.

#include <cstddef>
#include <string>
#include <vector>

namespace bloscfs::frame::inline pystore {

class LeftOut {
 public:
  void add(std::string message) {
    if (messages_.size() < kMostMessages)
      messages_.push_back(std::move(message));
    else
      ++more_;
  }
  bool empty() const { return messages_.empty(); }
  const std::vector<std::string>& messages() const { return messages_; }
  /// Returns how many there were in addition to messages().
  std::size_t more() const { return more_; }

 private:
  static constexpr std::size_t kMostMessages = 32;
  std::vector<std::string> messages_;
  std::size_t more_ = 0;
};

}  // namespace bloscfs::frame::inline pystore
