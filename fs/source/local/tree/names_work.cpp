#include "fs/source/local/tree/names_work.hpp"

#include <cerrno>
#include <exception>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

/// How often an operation is called before its long work is done under the lock. So many calls are
/// needed only if other programs keep changing what the operation looks at.
constexpr int kMostCalls = 100;
/// How often an operation asks for work that takes the lock on names itself. Such work is a commit,
/// which may take long.
constexpr int kMostCommits = 5;

}  // namespace

void NamesWork::call(const std::function<Need()>& operation) {
  int commits = 0;
  for (further_calls_ = kMostCalls;;) {
    is_changing_ = false;
    Need need;
    try {
      need = operation();
    } catch (ReadFirst& first) {
      need = std::move(first.need);
    }
    if (!need) break;
    if (need.takes_names && ++commits > kMostCommits)
      frame::throw_errno(EBUSY, "other programs keep changing the names");
    if (further_calls_ > 0) further_calls_--;
    need.work();
  }
  further_calls_ = 0;
}

Need NamesWork::without_lock(std::function<void()> work) {
  if (can_be_called_again()) return {std::move(work)};
  work();
  renew();
  return {};
}

Need NamesWork::once(const std::string& state, Need need) {
  if (done_.contains(state)) return {};
  auto work = [this, state, work = std::move(need.work)] {
    work();
    done_.insert(state);
  };
  if (need.takes_names) return {std::move(work), true};
  return without_lock(std::move(work));
}

void NamesWork::read_first(std::function<void()> work, const std::string& state) {
  Need need = state.empty() ? without_lock(std::move(work)) : once(state, {std::move(work)});
  if (need) throw ReadFirst{std::move(need)};
}

bool NamesWork::pause(const std::function<void()>& work) {
  if (share_ == nullptr || !can_be_called_again()) return false;
  NamesLock& lock = share_->lock_;
  // Read while the lock is still shared. A change is counted when it ends, so that any change
  // during the pause shows below.
  const std::uint64_t changes = lock.changes();
  lock.unlock_shared(share_->since_);
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  share_->since_ = lock.lock_shared();
  renew();
  if (failure) std::rethrow_exception(failure);
  return lock.changes() == changes;
}

void NamesWork::begin_change() {
  is_changing_ = true;
  renew();
}

ReadNames::ReadNames(NamesLock& lock, NamesWork* work)
    : lock_(lock), work_(work), since_(lock.lock_shared()) {
  if (work_ == nullptr) return;
  work_->share_ = this;
  work_->renew();
}

ReadNames::~ReadNames() {
  if (work_ != nullptr) work_->share_ = nullptr;
  lock_.unlock_shared(since_);
}

}  // namespace bloscfs::fs
