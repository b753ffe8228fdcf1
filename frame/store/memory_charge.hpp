#pragma once
// Accounts for the memory of a listing. A server may send any number of names. The code that reads
// the listing therefore calls MemoryCharge::take() before each allocation, and the charge throws if
// that would be too much (fs/view/memory_budget.hpp).

#include <atomic>
#include <cstddef>
#include <memory>

namespace bloscfs::frame::inline store {

/// Thread-safe.
class MemoryCharge {
 public:
  virtual ~MemoryCharge() = default;
  /// Adds `bytes` to the charge. Throws std::system_error (EFBIG or ENOMEM), and adds nothing, if
  /// the sum would be too large.
  virtual void take(std::size_t bytes) = 0;
  virtual void give_back(std::size_t bytes) noexcept = 0;

  /// Charges memory that is needed temporarily, such as a parsed page. The destructor gives the
  /// bytes back.
  class Part {
   public:
    Part(MemoryCharge& charge, std::size_t bytes) : charge_(charge), bytes_(bytes) {
      charge_.take(bytes_);
    }
    ~Part() { charge_.give_back(bytes_); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    void take(std::size_t bytes) {
      charge_.take(bytes);
      bytes_ += bytes;
    }

   private:
    MemoryCharge& charge_;
    std::size_t bytes_;
  };
};

using ChargePointer = std::shared_ptr<MemoryCharge>;

/// Returns a charge that refuses nothing. For programs that read one listing and then end.
const ChargePointer& uncharged();

/// Allows up to `limit` bytes, then throws EFBIG.
class LimitedCharge final : public MemoryCharge {
 public:
  explicit LimitedCharge(std::size_t limit) : limit_(limit) {}
  void take(std::size_t bytes) override;
  void give_back(std::size_t bytes) noexcept override { taken_ -= bytes; }
  std::size_t taken() const { return taken_; }

 private:
  const std::size_t limit_;
  std::atomic<std::size_t> taken_{0};
};

/// Returns the heap memory of a std::string with that length and no spare capacity, without the
/// object itself. The object holds up to 15 characters without heap memory. The allocator adds 8
/// bytes to a block and rounds up to 16 bytes.
constexpr std::size_t heap_size(std::size_t length) {
  constexpr std::size_t kInlineCapacity = 15, kAllocatorOverhead = 8, kStep = 16;
  return length <= kInlineCapacity ? 0
                                   : (length + 1 + kAllocatorOverhead + kStep - 1) / kStep * kStep;
}

}  // namespace bloscfs::frame::inline store
