#pragma once
// Accounts for the memory of an answer's body while it arrives, because its length is not known in
// advance.

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>

#include "frame/store/memory_charge.hpp"

namespace bloscfs::frame::inline remote {

/// Shared by a request, whose body arrives in the client's thread, and the thread that waits for
/// the answer. If the waiting thread gives up, close() makes take() refuse further bytes.
/// Thread-safe.
class AnswerMemory {
 public:
  explicit AnswerMemory(MemoryCharge& charge) : charge_(&charge) {}
  /// Takes `bytes`. Returns an error, with its explanation in `why`, if the charge refuses them.
  std::error_code take(std::size_t bytes, std::string& why) noexcept;
  void give_back(std::size_t bytes) noexcept;
  /// Gives back all bytes. The charge may be destroyed afterwards.
  void close() noexcept;

  /// Makes an AnswerMemory. The destructor closes it.
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
