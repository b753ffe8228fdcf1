#include "frame/remote/idle_sweep.hpp"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <utility>
#include <vector>

namespace bloscfs::frame::inline remote {
namespace {

constexpr std::chrono::milliseconds kBetweenSweeps{500};

}  // namespace

struct IdleSweep::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool ending = false;
  std::vector<std::weak_ptr<Keeper>> keepers;
};

IdleSweep::IdleSweep() : shared_(std::make_shared<Shared>()) {}

IdleSweep::~IdleSweep() {
  {
    const std::lock_guard guard(shared_->mutex);
    shared_->ending = true;
  }
  shared_->changed.notify_all();
  if (!thread_.joinable()) return;
  // The sweep's thread may own the last reference to a keeper, and that keeper the last reference
  // to this object.
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

void IdleSweep::watch(std::weak_ptr<Keeper> keeper) {
  {
    const std::lock_guard guard(shared_->mutex);
    shared_->keepers.push_back(std::move(keeper));
    if (!thread_.joinable()) thread_ = std::thread([shared = shared_] { run(*shared); });
  }
  shared_->changed.notify_all();
}

void IdleSweep::run(Shared& shared) {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.changed.wait(lock, [&] { return shared.ending || !shared.keepers.empty(); });
    if (shared.changed.wait_for(lock, kBetweenSweeps, [&] { return shared.ending; })) return;
    std::vector<std::weak_ptr<Keeper>> asked = std::move(shared.keepers);
    shared.keepers.clear();
    lock.unlock();
    std::erase_if(asked, [](const std::weak_ptr<Keeper>& some) {
      const std::shared_ptr<Keeper> keeper = some.lock();
      return !keeper || !keeper->drop_idle();
    });
    lock.lock();
    shared.keepers.insert(shared.keepers.end(), asked.begin(), asked.end());
  }
}

}  // namespace bloscfs::frame::inline remote
