#pragma once
// Something that there is a limited amount of, shared by users who need not trust each other: each
// may have half of what the others leave. So there is always some for who comes next.

#include <chrono>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include <sys/types.h>

#include "frame/store/clock.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. Remembers no user who has nothing.
class FairShare {
 public:
  explicit FairShare(std::size_t limit) : limit_(limit) {}

  /// What somebody has already stays so.
  void set_limit(std::size_t limit) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    limit_ = limit;
  }

  /// What somebody has, until it is destroyed. The share outlives it.
  class Part {
   public:
    Part() = default;
    Part(Part&& other) noexcept
        : share_(std::exchange(other.share_, nullptr)),
          user_(other.user_),
          amount_(other.amount_) {}
    Part& operator=(Part&& other) noexcept {
      std::swap(share_, other.share_);
      std::swap(user_, other.user_);
      std::swap(amount_, other.amount_);
      return *this;
    }
    ~Part() {
      if (share_ != nullptr) share_->give_back(user_, amount_);
    }
    /// False where that was more than the user's share.
    explicit operator bool() const { return share_ != nullptr; }
    /// Takes more for the same user; false, and nothing, where that is more than the user's share.
    /// Not of an empty one.
    bool grow(std::size_t amount) {
      if (!share_->grow(user_, amount)) return false;
      amount_ += amount;
      return true;
    }
    void shrink(std::size_t amount) {
      share_->give_back(user_, amount);
      amount_ -= amount;
    }
    /// Whose it is; not of an empty one.
    uid_t user() const { return user_; }
    std::size_t amount() const { return share_ == nullptr ? 0 : amount_; }

   private:
    friend class FairShare;
    Part(FairShare& share, uid_t user, std::size_t amount)
        : share_(&share), user_(user), amount_(amount) {}

    FairShare* share_ = nullptr;
    uid_t user_ = 0;
    std::size_t amount_ = 0;
  };

  /// An empty part where it is more than the user's share.
  Part take(uid_t user, std::size_t amount) EXCLUDES(mutex_);
  /// A part of nothing, which may grow.
  Part take_none(uid_t user) { return {*this, user, 0}; }
  /// As take(user, amount), but waits so long for what the user has to be given back.
  Part take(uid_t user, std::size_t amount, std::chrono::milliseconds timeout,
            const frame::Clock& clock = frame::system_clock()) EXCLUDES(mutex_);
  /// As take(user, amount), but the first that a user has may be larger than the share.
  Part take_one(uid_t user, std::size_t amount) EXCLUDES(mutex_);

 private:
  bool grow(uid_t user, std::size_t amount) EXCLUDES(mutex_);
  Part take_locked(uid_t user, std::size_t amount, bool first_is_free) REQUIRES(mutex_);
  void give_back(uid_t user, std::size_t amount) EXCLUDES(mutex_);

  Mutex mutex_;
  std::size_t limit_ GUARDED_BY(mutex_);
  CondVar given_back_;
  std::size_t taken_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<uid_t, std::size_t> by_user_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
