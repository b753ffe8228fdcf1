// A preloaded library. Counts how often the threads of a program take and wait for each pthread
// lock, and how long they hold it exclusively. The file that LOCK_COUNTS names has the counts,
// which contention.py reads.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

/// A longer hold mostly means that the thread was preempted.
constexpr std::uint64_t kLongestHold = 200'000;  // in ns
constexpr std::size_t kLocks = 1 << 16, kMostHeld = 512;

struct Lock {
  std::atomic<std::uint64_t> address, site, taken, waits, held;  ///< `held` in ns
};
/// The layout of the file. All numbers have 8 bytes.
struct Table {
  std::uint64_t program = 0;  ///< the program's address in memory, to which sites are relative
  Lock locks[kLocks];
};
struct Held {
  const void* lock;
  Lock* entry;
  std::uint64_t since;
};

thread_local Held t_held[kMostHeld];
thread_local std::size_t t_held_count = 0;

Table* make_table() {
  const char* const path = std::getenv("LOCK_COUNTS");
  const int fd = path == nullptr ? -1 : ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* memory = MAP_FAILED;
  if (fd >= 0 && ::ftruncate(fd, sizeof(Table)) == 0)
    memory = ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0) ::close(fd);
  if (memory == MAP_FAILED) std::abort();
  auto* const table = static_cast<Table*>(memory);
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* to) {
        static_cast<Table*>(to)->program = object->dlpi_addr;
        return 1;  // the first object is the program
      },
      table);
  return table;
}

Lock& entry_of(const void* lock, const void* site) {
  static Table* const table = make_table();
  const auto address = reinterpret_cast<std::uintptr_t>(lock);
  for (std::size_t at = address * 0x9E3779B97F4A7C15u >> 48;; at = (at + 1) % kLocks) {
    Lock& entry = table->locks[at];
    std::uint64_t there = entry.address.load(std::memory_order_relaxed);
    if (there == 0 && entry.address.compare_exchange_strong(there, address)) there = address;
    if (there != address) continue;
    entry.site.store(reinterpret_cast<std::uintptr_t>(site), std::memory_order_relaxed);
    return entry;
  }
}

std::uint64_t now() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

void count(Lock& entry, bool waited) {
  entry.taken.fetch_add(1, std::memory_order_relaxed);
  if (waited) entry.waits.fetch_add(1, std::memory_order_relaxed);
}

void begin(const void* lock, Lock& entry) {
  if (t_held_count < kMostHeld) t_held[t_held_count++] = {lock, &entry, now()};
}

/// Returns the entry, or null if the lock is held shared.
Lock* end(const void* lock) {
  for (std::size_t at = t_held_count; at-- > 0;) {
    if (t_held[at].lock != lock) continue;
    Lock* const entry = t_held[at].entry;
    const std::uint64_t held = now() - t_held[at].since;
    entry->held.fetch_add(held < kLongestHold ? held : kLongestHold, std::memory_order_relaxed);
    t_held[at] = t_held[--t_held_count];
    return entry;
  }
  return nullptr;
}

template <typename Function>
Function* next(const char* name, const char* version = nullptr) {
  void* const found =
      version == nullptr ? ::dlsym(RTLD_NEXT, name) : ::dlvsym(RTLD_NEXT, name, version);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function*>(found);
}

template <typename Object>
using Call = int(Object*);

template <typename Object>
int take(Object* lock, Call<Object>* attempt, Call<Object>* wait, bool alone, const void* site) {
  Lock& entry = entry_of(lock, site);
  const bool waits = attempt(lock) != 0;
  if (const int error = waits ? wait(lock) : 0; error != 0) return error;
  count(entry, waits);
  if (alone) begin(lock, entry);
  return 0;
}

/// While a thread waits for a condition, it does not hold the lock.
template <typename Wait>
int wait_without(pthread_mutex_t* mutex, Wait wait) {
  Lock* const entry = end(mutex);
  const int result = wait();
  if (entry != nullptr) begin(mutex, *entry);
  return result;
}

constexpr const char* kConditions = "GLIBC_2.3.2";  // older versions are incompatible

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static auto* const attempt = next<Call<pthread_mutex_t>>("pthread_mutex_trylock");
  static auto* const wait = next<Call<pthread_mutex_t>>("pthread_mutex_lock");
  return take(mutex, attempt, wait, true, __builtin_return_address(0));
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  static auto* const unlock = next<Call<pthread_mutex_t>>("pthread_mutex_unlock");
  end(mutex);
  return unlock(mutex);
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  static auto* const attempt = next<Call<pthread_rwlock_t>>("pthread_rwlock_tryrdlock");
  static auto* const wait = next<Call<pthread_rwlock_t>>("pthread_rwlock_rdlock");
  return take(lock, attempt, wait, false, __builtin_return_address(0));
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  static auto* const attempt = next<Call<pthread_rwlock_t>>("pthread_rwlock_trywrlock");
  static auto* const wait = next<Call<pthread_rwlock_t>>("pthread_rwlock_wrlock");
  return take(lock, attempt, wait, true, __builtin_return_address(0));
}

int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  static auto* const unlock = next<Call<pthread_rwlock_t>>("pthread_rwlock_unlock");
  end(lock);
  return unlock(lock);
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static auto* const wait =
      next<int(pthread_cond_t*, pthread_mutex_t*)>("pthread_cond_wait", kConditions);
  return wait_without(mutex, [&] { return wait(condition, mutex); });
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  static auto* const wait = next<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)>(
      "pthread_cond_timedwait", kConditions);
  return wait_without(mutex, [&] { return wait(condition, mutex, until); });
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  static auto* const wait =
      next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>(
          "pthread_cond_clockwait");
  return wait_without(mutex, [&] { return wait(condition, mutex, clock, until); });
}

}  // extern "C"
