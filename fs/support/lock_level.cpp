#include "fs/support/lock_level.hpp"

#ifndef NDEBUG
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>
#endif

namespace bloscfs::fs {

#ifndef NDEBUG
namespace {

constexpr std::array kLevelNames = {"command", "request", "batch", "commit", "names", "queue",
                                    "table",   "content", "watch", "cache",  "leaf",  "slots"};

struct Held {
  const void* lock;
  LockLevel level;
};

/// True after the thread's list has been destroyed. In the main thread that happens before static
/// objects are destroyed, and those still take locks. Their order is not checked.
thread_local bool list_is_gone = false;

struct HeldLocks {
  std::vector<Held> locks;
  ~HeldLocks() { list_is_gone = true; }
};
thread_local HeldLocks held;

const char* name_of(LockLevel level) { return kLevelNames[static_cast<std::size_t>(level)]; }

/// True if a thread that holds `before` may take `lock`. It may hold several locks of one level
/// only to commit several files, and takes these in the order of their addresses.
bool may_follow(const Held& before, const void* lock, LockLevel level) {
  if (before.level != level) return before.level < level;
  return level == LockLevel::commit && std::less<>()(before.lock, lock);
}

}  // namespace

void check_order(const void* lock, LockLevel level) {
  if (list_is_gone) return;
  for (const Held& before : held.locks)
    if (!may_follow(before, lock, level)) {
      std::fprintf(stderr, "a lock of level '%s' would be taken behind one of level '%s'\n",
                   name_of(level), name_of(before.level));
      std::abort();
    }
}

void note_locked(const void* lock, LockLevel level) {
  if (!list_is_gone) held.locks.push_back({lock, level});
}

void note_unlocked(const void* lock) {
  if (list_is_gone) return;
  const auto last = std::find_if(held.locks.rbegin(), held.locks.rend(),
                                 [lock](const Held& one) { return one.lock == lock; });
  if (last != held.locks.rend()) held.locks.erase(std::next(last).base());
}
#endif

}  // namespace bloscfs::fs
