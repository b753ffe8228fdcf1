#pragma once
// The mount's one memory budget, `cache_size`. These things are taken from it:
//
//   a value of the cache     what its memory() says and BlockCache::kEntryCost, while it is kept
//   the pool's pieces        that nobody uses: as much as PagePool keeps, always
//   working memory           what making a value takes beside it, while it is made; more than half
//                            of the budget is refused, or taken alone (LargestWork)
//   large working memory     the same, and a permit (LargeWork): permits together have half of the
//                            budget, so that two large decodings never wait for each other's end
//   a part (Part)            bytes outside of the cache: dirty data, listings, attributes, chunks
//                            that a commit encodes
//   what is held (Held)      the same for an open file; all of them have half of the budget and
//                            16 MiB, in shares of the users
//   a listing (Listing)      what a listing takes while it is made, and what is kept of it: of a
//                            store, and of a directory behind a URL; one listing may have half of
//                            the budget, all of one user's 4 MiB more
//
// A rule for whatever comes from a file or a server: memory is taken here, in bytes, before it is
// allocated. Counting entries, or charging after the memory was taken, bounds nothing.
//
// Only a permit is waited for, and a listing is refused where it does not fit. Whatever else is
// taken is there at once, and values of the cache that nobody uses give way to it; while all are in
// use more than the budget may be taken. Example: of 256 MiB, 40 MiB are dirty, 10 MiB held, and a
// block of 60 MiB is being decoded with 70 MiB of working memory: then values keep 136 MiB.

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

/// Working memory of more than half of the budget.
enum class LargestWork : std::uint8_t {
  is_refused,  ///< by codec::Error(too_large)
  runs_alone,  ///< beyond the budget, with no other large work beside it
};

/// Thread-safe.
class MemoryBudget {
 public:
  /// `capacity` in bytes. `free_one` drops a value that nobody uses, false where it finds none; it
  /// is called whenever too much is taken, with whatever locks the taker holds.
  MemoryBudget(std::size_t capacity, std::function<bool()> free_one,
               LargestWork largest = LargestWork::is_refused);

  std::size_t capacity() const { return capacity_; }
  /// More than before: whatever was allowed stays so. What open files may have does not grow.
  void grow(std::size_t capacity) {
    capacity_ = capacity;
    listings_.set_limit(capacity + kListingsBesides);
  }
  std::size_t used() const { return used_; }

  void take(std::size_t bytes);
  void give_back(std::size_t bytes) { used_ -= bytes; }
  /// Drops values until at most `most` bytes are taken, or all of them are in use.
  void shrink(std::size_t most);
  /// Throws codec::Error(too_large) for working memory of more than half of the budget, where that
  /// is refused.
  void require_affordable(std::size_t working_memory) const;
  /// True for working memory of more than half of the budget, where that is allowed.
  bool runs_alone(std::int64_t working_memory) const;

  /// Bytes that are taken while it lives. For one thread at a time; the budget outlives it.
  class Part {
   public:
    explicit Part(MemoryBudget& budget, std::size_t bytes = 0) : budget_(budget) { resize(bytes); }
    Part(Part&& other) noexcept
        : budget_(other.budget_), bytes_(std::exchange(other.bytes_, std::size_t{0})) {}
    Part& operator=(Part&&) = delete;
    ~Part() { budget_.give_back(bytes_); }
    std::size_t size() const { return bytes_; }
    void resize(std::size_t bytes);
    /// The bytes stay taken: whoever calls this sees to it that they are given back.
    void release() { bytes_ = 0; }

   private:
    MemoryBudget& budget_;
    std::size_t bytes_ = 0;
  };

  /// What an open file keeps, while it lives.
  class Held {
   public:
    /// Throws std::system_error(ENOMEM) when what the user has opened holds too much already, or
    /// this alone is too much. That is logged once, with the user.
    Held(Request& request, MemoryBudget& budget, std::size_t bytes);

   private:
    FairShare::Part share_;
    Part part_;
  };

  /// What a listing takes, of the share of the user whose request makes it. Its reader calls take()
  /// before it allocates. That throws std::system_error: EFBIG where one listing needs more than
  /// half of the budget, ENOMEM where all listings of the user do. Thread-safe.
  class Listing final : public frame::MemoryCharge {
   public:
    /// `name` is for a line in the log that tells why it was refused; empty: the caller tells.
    /// `make_room`, which may be empty, drops a listing that nobody uses and returns true, or
    /// returns false; it is called with no lock of the budget.
    Listing(Request& request, MemoryBudget& budget, std::string name,
            std::function<bool()> make_room = {});
    ~Listing() override;
    Listing(const Listing&) = delete;
    Listing& operator=(const Listing&) = delete;
    void take(std::size_t bytes) override;
    void give_back(std::size_t bytes) noexcept override;
    /// Gives back all but so many bytes, or takes what is missing.
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
    FairShare::Part share_ GUARDED_BY(mutex_);  ///< in steps; the budget has as much of it
    std::size_t taken_ GUARDED_BY(mutex_) = 0;
  };

  /// A permit for so much working memory, while it lives; waits until it can be had. Hold at most
  /// one per thread, and take it before BlockCache::get(). Throws as require_affordable(); NoSlot
  /// where it would wait and there is no slot; RequestEnded.
  class LargeWork {
   public:
    /// True if that many bytes need a permit at all.
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
  /// Beside the budget: with a small cache_size a large listing does not give ENOMEM for the small
  /// ones that are kept. A user who is alone has half of it.
  static constexpr std::size_t kListingsBesides = std::size_t{8} << 20;

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
