#pragma once
// Requests of the kernel: those under way, with what they wait for, and how long finished requests
// took. The threads that serve requests take no lock for this.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <sys/types.h>

#include "frame/store/wait_context.hpp"
#include "fs/support/latencies.hpp"

namespace bloscfs::fs {

enum class Operation : std::uint8_t {
  lookup,
  getattr,
  setattr,
  access,
  readlink,
  statfs,
  open,
  release,
  read,
  lseek,
  write,
  fsync,
  flush,
  fallocate,
  copy_file_range,
  opendir,
  readdir,
  releasedir,
  fsyncdir,
  getxattr,
  listxattr,
  setxattr,
  removexattr,
  mknod,
  mkdir,
  symlink,
  link,
  unlink,
  rmdir,
  rename,
  create,
  ioctl,
};
inline constexpr std::size_t kOperations = static_cast<std::size_t>(Operation::ioctl) + 1;
const char* name_of(Operation operation);

/// Thread-safe.
class RequestWatch {
 public:
  using Clock = std::chrono::steady_clock;

  RequestWatch();
  ~RequestWatch();
  RequestWatch(const RequestWatch&) = delete;
  RequestWatch& operator=(const RequestWatch&) = delete;

  struct Sender {
    uid_t user = 0;
    pid_t process = 0;
  };

  /// Registers one request from its construction to its destruction. The watch outlives it.
  class Entry;

  struct UnderWay {
    Operation operation{};
    std::uint64_t node = 0;
    Sender sender;
    Clock::duration age{};
    frame::WaitReason waits_for{};
    Clock::duration waits{};  ///< how long it has waited for that
  };
  /// Returns the requests under way, the oldest first. At most about 1000 are listed at once,
  /// including those that wait for a slot. Further requests are counted only when they are done.
  std::vector<UnderWay> under_way() const;

  const Latencies& latencies(Operation operation) const { return of(operation).latencies; }
  std::uint64_t bytes(Operation operation) const { return of(operation).bytes; }

 private:
  struct Done {
    Latencies latencies;
    std::atomic<std::uint64_t> bytes{0};
  };
  struct Slot;
  static constexpr std::size_t kSlots = 1024;

  const Done& of(Operation operation) const { return done_[static_cast<std::size_t>(operation)]; }
  Done& of(Operation operation) { return done_[static_cast<std::size_t>(operation)]; }
  Slot* take_slot() noexcept;

  std::array<Done, kOperations> done_;
  const std::unique_ptr<Slot[]> slots_;
};

/// For one thread at a time.
class RequestWatch::Entry {
 public:
  Entry(RequestWatch& watch, Operation operation, std::uint64_t node, Sender sender) noexcept;
  Entry(Entry&& other) noexcept;
  Entry& operator=(Entry&&) = delete;
  ~Entry();

  /// Adds to the bytes of contents that the request transfers.
  void add_bytes(std::size_t count) noexcept;
  /// Where the request notes what it waits for. Null if it is not listed, or the entry was moved
  /// from.
  frame::WaitState* waits() const;

 private:
  RequestWatch* watch_;  ///< null if the entry was moved from
  Slot* slot_;
  Operation operation_;
  Clock::time_point began_;
};

}  // namespace bloscfs::fs
