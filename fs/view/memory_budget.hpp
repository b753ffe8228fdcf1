#pragma once
// The mount's one memory budget, `cache_size`. It pays for:
//
//   cached values         memory() and BlockCache::kEntryCost of each value, while it is cached
//   spare pool memory     the pieces that PagePool keeps for reuse; always charged
//   working memory        what making a value takes, the value included, while it is made; more
//                         than half of the budget is refused, or runs alone (LargestWork)
//   large working memory  also needs a permit (LargeWork); all permits together have half of the
//                         budget, so that two large decodings never wait for each other
//   parts (Part)          bytes outside of the cache: dirty data, listings, attributes, chunks
//                         that a commit encodes
//   held memory (Held)    what open files keep; together at most half of the budget and 16 MiB,
//                         in shares of the users
//   listings (Listing)    listings of stores and of directories behind a URL; one may have half
//                         of the budget, all those of one user 4 MiB more
//
// A rule for all data from a file or a server: take its memory here, in bytes, before you allocate
// it. Counting entries, or charging after the allocation, bounds nothing.
//
// Threads wait only for permits. Held memory and listings that exceed their limits are refused. All
// other memory is granted at once, and the cache evicts unused values for it. While all values are
// in use, more than the budget may be taken. Example: of 256 MiB, 40 MiB are dirty, 10 MiB are
// held, and a block of 60 MiB is being decoded with 70 MiB of working memory. Then 136 MiB are
// left.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <sys/types.h>

#include "frame/store/memory_charge.hpp"
#include "fs/support/fair_share.hpp"
#include "fs/support/once_log.hpp"
#include "fs/support/request.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// What happens to working memory of more than half of the budget.
enum class LargestWork : std::uint8_t {
  is_refused,  ///< throws codec::Error(too_large)
  runs_alone,  ///< exceeds the budget, while no other large work runs
};

/// Thread-safe.
class MemoryBudget {
 public:
  /// `capacity` is in bytes. `free_one` evicts an unused value; it returns false if it finds none.
  /// It is called whenever too much is taken, with the locks that the taking thread holds.
  MemoryBudget(std::size_t capacity, std::function<bool()> free_one,
               LargestWork largest = LargestWork::is_refused);

  std::size_t capacity() const { return capacity_; }
  /// Enlarges the budget: `capacity` must be larger than before. The limit of held memory stays.
  void grow(std::size_t capacity) {
    capacity_ = capacity;
    listings_.set_limit(capacity + kListingsExtra);
  }
  std::size_t used() const { return used_; }

  void take(std::size_t bytes);
  void give_back(std::size_t bytes) { used_ -= bytes; }
  /// Evicts values until at most `most` bytes are taken, or all values are in use.
  void shrink(std::size_t most);
  /// Throws codec::Error(too_large) if the working memory is more than half of the budget, and that
  /// is refused.
  void require_affordable(std::size_t working_memory) const;
  /// True if the working memory is more than half of the budget, and that is allowed.
  bool runs_alone(std::int64_t working_memory) const;

  /// Bytes that are taken during the lifetime of the object. For one thread at a time. The budget
  /// outlives it.
  class Part {
   public:
    explicit Part(MemoryBudget& budget, std::size_t bytes = 0) : budget_(budget) { resize(bytes); }
    Part(Part&& other) noexcept
        : budget_(other.budget_), bytes_(std::exchange(other.bytes_, std::size_t{0})) {}
    Part& operator=(Part&&) = delete;
    ~Part() { budget_.give_back(bytes_); }
    std::size_t size() const { return bytes_; }
    void resize(std::size_t bytes);
    /// Forgets the bytes, which stay taken. The caller must give them back later.
    void release() { bytes_ = 0; }

   private:
    MemoryBudget& budget_;
    std::size_t bytes_ = 0;
  };

  /// The memory that an open file keeps.
  class Held {
   public:
    /// Throws std::system_error(ENOMEM) if the user's open files would hold too much. This is
    /// logged once, with the user.
    Held(Request& request, MemoryBudget& budget, std::size_t bytes);

   private:
    FairShare::Part share_;
    Part part_;
  };

  /// The memory of a listing, from the share of the user whose request makes it. The reader of the
  /// listing calls take() before it allocates. take() throws std::system_error: EFBIG if this
  /// listing needs more than half of the budget, ENOMEM if the user's listings together need more
  /// than their share. Thread-safe.
  class Listing final : public frame::MemoryCharge {
   public:
    /// `name` is for the log message that says why the listing was refused. If it is empty, the
    /// caller reports that. `make_room` may be empty. It drops an unused listing and returns true,
    /// or returns false. It is called without locks of the budget.
    Listing(Request& request, MemoryBudget& budget, std::string name,
            std::function<bool()> make_room = {});
    ~Listing() override;
    Listing(const Listing&) = delete;
    Listing& operator=(const Listing&) = delete;
    void take(std::size_t bytes) override;
    void give_back(std::size_t bytes) noexcept override;
    /// Gives back all but `bytes` bytes, or takes the missing ones.
    void keep(std::size_t bytes);
    std::size_t taken() const EXCLUDES(mutex_);

   private:
    enum class Grown { yes, too_large, too_many };
    Grown grow(std::size_t bytes) EXCLUDES(mutex_);
    [[noreturn]] void refuse(Grown why);

    MemoryBudget& budget_;
    const std::optional<uid_t> user_;
    const std::string name_;
    const std::function<bool()> make_room_;
    mutable Mutex mutex_{LockLevel::watch};
    FairShare::Part share_ GUARDED_BY(mutex_);  ///< in steps; the budget is charged as much
    std::size_t taken_ GUARDED_BY(mutex_) = 0;
  };

  /// A permit for large working memory. The constructor waits until the permit can be had. A thread
  /// may have at most one, and must take it before BlockCache::get(). Throws the errors of
  /// require_affordable(), NoSlot if it would wait and no slot is free, and RequestEnded.
  class LargeWork {
   public:
    /// True if that many bytes need a permit.
    static bool is_large(std::int64_t bytes);
    LargeWork(Request& request, MemoryBudget& budget, std::int64_t bytes);
    ~LargeWork();
    LargeWork(const LargeWork&) = delete;
    LargeWork& operator=(const LargeWork&) = delete;

   private:
    MemoryBudget& budget_;
    std::size_t bytes_;
  };

 private:
  /// What listings may take in addition to the budget. It lets a user keep small listings cached
  /// next to one that takes half of the budget, even if cache_size is small. A user who is alone
  /// can have half of these bytes in addition to half of the budget.
  static constexpr std::size_t kListingsExtra = std::size_t{8} << 20;

  [[noreturn]] void refuse_held(std::optional<uid_t> user, std::size_t bytes);

  std::atomic<std::size_t> capacity_;
  const std::function<bool()> free_one_;
  const LargestWork largest_;
  std::atomic<std::size_t> used_{0};
  const std::size_t held_limit_;  ///< for all users together
  FairShare held_;                ///< by open files
  FairShare listings_;
  OnceLog log_;
  Mutex large_mutex_;
  CondVar large_freed_;
  std::size_t large_work_ GUARDED_BY(large_mutex_) = 0;
};

}  // namespace bloscfs::fs
