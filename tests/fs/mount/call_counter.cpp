#include "tests/fs/mount/call_counter.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

CallCounter::CallCounter() {
  const Fd context(::fsopen("tracefs", FSOPEN_CLOEXEC));
  ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0);
  const Fd tracefs(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
  const Fd id(::openat(tracefs.get(), "events/raw_syscalls/sys_enter/id", O_RDONLY | O_CLOEXEC));
  std::array<char, 32> text{};
  if (::read(id.get(), text.data(), text.size() - 1) <= 0) return;
  perf_event_attr event{};
  event.size = sizeof event;
  event.type = PERF_TYPE_TRACEPOINT;
  event.config = std::strtoull(text.data(), nullptr, 10);
  const auto fd = ::syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  fd_ = Fd(static_cast<int>(fd));
  std::string filter = fmt::format("id != {} && id != {}", SYS_read, SYS_clock_gettime);
  for (const int left_out :
       {SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_futex})
    filter += fmt::format(" && id != {}", left_out);
  if (::ioctl(fd_.get(), PERF_EVENT_IOC_SET_FILTER, filter.c_str()) != 0) fd_ = Fd();
}

int CallCounter::count() const {
  std::int64_t count = 0;
  if (::read(fd_.get(), &count, sizeof count) != sizeof count) throw_errno("read");
  return static_cast<int>(count);
}

Precondition needs_call_counts(boost::unit_test::test_unit_id id) {
  const Precondition is_plain = needs_plain_build(id);
  if (!is_plain || CallCounter()) return is_plain;
  return skip("system calls cannot be counted: no tracefs, or no perf_event_open");
}

}  // namespace bloscfs::test
