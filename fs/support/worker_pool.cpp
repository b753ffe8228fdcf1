#include "fs/support/worker_pool.hpp"

#include <cstdint>

#include <sys/syscall.h>
#include <unistd.h>

namespace bloscfs::fs {
namespace {

constexpr std::uint64_t kTurnNs = 20'000'000;

/// The kernel's struct sched_attr, first version: the C library has none.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = 0;  // SCHED_OTHER
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;  // of SCHED_OTHER: how long a turn is
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};

}  // namespace

void use_long_time_slices() noexcept {
  SchedulingAttributes attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  // Somebody has chosen another policy for the daemon, under which the runtime means something
  // else.
  if (attributes.policy != 0) return;
  attributes.size = sizeof attributes;
  attributes.runtime = kTurnNs;
  ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace bloscfs::fs
