#pragma once
// The memory of an answer's body, as it comes, of which nobody knows how long it gets.

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>

#include "frame/store/memory_charge.hpp"

namespace bloscfs::frame::inline remote {

/// Shared by a request, whose body the client's thread receives, and whoever waits for that, who
/// may give up before: then nothing more is taken. Thread-safe.
class AnswerMemory {
 public:
  explicit AnswerMemory(MemoryCharge& charge) : charge_(&charge) {}
  /// Nothing where that may be taken, else why not.
  std::error_code take(std::size_t bytes, std::string& why) noexcept;
  void give_back(std::size_t bytes) noexcept;
  /// Gives back all. The charge need not live longer.
  void close() noexcept;

  /// Makes one, and closes it.
  class Closer {
   public:
    explicit Closer(MemoryCharge& charge) : memory_(std::make_shared<AnswerMemory>(charge)) {}
    ~Closer() { memory_->close(); }
    Closer(const Closer&) = delete;
    Closer& operator=(const Closer&) = delete;
    const std::shared_ptr<AnswerMemory>& get() const { return memory_; }

   private:
    const std::shared_ptr<AnswerMemory> memory_;
  };

 private:
  std::mutex mutex_;
  MemoryCharge* charge_;
  std::size_t taken_ = 0;
};

}  // namespace bloscfs::frame::inline remote
