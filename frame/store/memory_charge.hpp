#pragma once
// The memory that a listing takes: a reader of names that anybody may have written says what it is
// about to allocate, in bytes, before it allocates it. Whoever gave the charge decides whether that
// is too much (fs/view/memory_budget.hpp).

#include <atomic>
#include <cstddef>
#include <memory>

namespace bloscfs::frame::inline store {

/// Thread-safe.
class MemoryCharge {
 public:
  virtual ~MemoryCharge() = default;
  /// Throws std::system_error, EFBIG or ENOMEM, and takes nothing where the bytes are too many.
  virtual void take(std::size_t bytes) = 0;
  virtual void give_back(std::size_t bytes) noexcept = 0;

  /// Bytes that are taken while it lives: those of something that the reader needs for a while.
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

/// Refuses nothing: for programs that read one listing and end.
const ChargePointer& uncharged();

/// Gives so many bytes and no more (EFBIG).
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

/// What a text of that length takes of the heap beside the std::string itself.
constexpr std::size_t heap_size(std::size_t length) {
  constexpr std::size_t kWithin = 15, kOfAllocator = 32;
  return length <= kWithin ? 0 : length + kOfAllocator;
}

}  // namespace bloscfs::frame::inline store
