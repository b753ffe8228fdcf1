#pragma once
// A limited resource, shared by users who need not trust each other. Each user may have half of
// what the other users leave. So the next user always finds some.

#include <chrono>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include <sys/types.h>

#include "frame/store/clock.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. Forgets users who have nothing.
class FairShare {
 public:
  explicit FairShare(std::size_t limit) : limit_(limit) {}

  /// A lower limit takes nothing away from users who have more already.
  void set_limit(std::size_t limit) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    limit_ = limit;
  }

  /// What one user has taken; the destructor gives it back. The FairShare outlives its parts.
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
    /// False for an empty part: take() returns one if the user's share is too small.
    explicit operator bool() const { return share_ != nullptr; }
    /// Takes more for the same user. Returns false and takes nothing if that exceeds the user's
    /// share. Not to be called for an empty part.
    bool grow(std::size_t amount) {
      if (!share_->grow(user_, amount)) return false;
      amount_ += amount;
      return true;
    }
    void shrink(std::size_t amount) {
      share_->give_back(user_, amount);
      amount_ -= amount;
    }
    /// Not to be called for an empty part.
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

  /// Returns an empty part if the amount exceeds the user's share.
  Part take(uid_t user, std::size_t amount) EXCLUDES(mutex_);
  /// Returns a part with the amount 0, for which grow() may be called.
  Part take_none(uid_t user) { return {*this, user, 0}; }
  /// Like take(user, amount), but waits up to `timeout` until enough has been given back.
  Part take(uid_t user, std::size_t amount, std::chrono::milliseconds timeout,
            const frame::Clock& clock = frame::system_clock()) EXCLUDES(mutex_);
  /// Like take(user, amount), but if the user has nothing yet, the amount may exceed the share.
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
