#pragma once
// Has those who keep something for readers look now and then whether any is still there.

#include <memory>
#include <thread>

namespace bloscfs::frame::inline remote {

/// Thread-safe. Has a thread of its own from the first watch() on.
class IdleSweep {
 public:
  class Keeper {
   public:
    virtual ~Keeper() = default;
    /// Drops what nobody has wanted for a while; false once nothing is left that might be dropped.
    virtual bool drop_idle() noexcept = 0;
  };

  IdleSweep();
  /// Keepers are not called any more, unless it is one of them that ends it.
  ~IdleSweep();
  IdleSweep(const IdleSweep&) = delete;
  IdleSweep& operator=(const IdleSweep&) = delete;

  /// Calls it until it has nothing more, or is gone.
  void watch(std::weak_ptr<Keeper> keeper);

 private:
  struct Shared;
  static void run(Shared& shared);

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace bloscfs::frame::inline remote
