#pragma once
// Regularly drops data that was fetched for readers that do not come.

#include <memory>
#include <thread>

namespace bloscfs::frame::inline remote {

/// Thread-safe. The first watch() starts its thread.
class IdleSweep {
 public:
  class Keeper {
   public:
    virtual ~Keeper() = default;
    /// Drops data that no reader has used for a while. Returns false once there is nothing left to
    /// drop.
    virtual bool drop_idle() noexcept = 0;
  };

  IdleSweep();
  /// Afterwards no keeper is called, unless the destructor runs in the sweep's own thread.
  ~IdleSweep();
  IdleSweep(const IdleSweep&) = delete;
  IdleSweep& operator=(const IdleSweep&) = delete;

  /// Calls drop_idle() of `keeper` regularly, until it returns false or `keeper` is destroyed.
  void watch(std::weak_ptr<Keeper> keeper);

 private:
  struct Shared;
  static void run(Shared& shared);

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace bloscfs::frame::inline remote
