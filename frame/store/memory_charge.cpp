#include "frame/store/memory_charge.hpp"

#include <cerrno>

#include <fmt/core.h>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline store {

const ChargePointer& uncharged() {
  class Uncharged final : public MemoryCharge {
   public:
    void take(std::size_t) override {}
    void give_back(std::size_t) noexcept override {}
  };
  static const ChargePointer instance = std::make_shared<Uncharged>();
  return instance;
}

void LimitedCharge::take(std::size_t bytes) {
  std::size_t taken = taken_;
  do {
    if (bytes > limit_ || taken > limit_ - bytes)
      throw_errno(EFBIG, fmt::format("a listing that needs more than {} bytes", limit_));
  } while (!taken_.compare_exchange_weak(taken, taken + bytes));
}

}  // namespace bloscfs::frame::inline store
