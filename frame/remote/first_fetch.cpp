#include "frame/remote/first_fetch.hpp"

#include <new>
#include <utility>

#include "frame/store/wait_context.hpp"

namespace bloscfs::frame::inline remote {
namespace {

/// Answers that no reader takes are dropped after this time.
constexpr std::chrono::milliseconds kUnclaimed{5000};

std::size_t size_of(const std::vector<RangeRequest>& requests) {
  std::size_t size = 0;
  for (const RangeRequest& request : requests) size += request.size;
  return size;
}

}  // namespace

FirstFetch::FirstFetch(HttpClient& client, std::shared_ptr<Traffic> traffic,
                       std::vector<RangeRequest> requests)
    : traffic_(std::move(traffic)),
      size_(size_of(requests)),
      client_(&client),
      requests_(std::move(requests)) {}

FirstFetch::~FirstFetch() {
  if (state_ == State::under_way) end_as(State::lost, 0);
  if (is_counted_) traffic_->released(size_);
}

void FirstFetch::start() noexcept {
  const std::lock_guard guard(mutex_);
  is_counted_ = true;
  if (state_ != State::waiting || client_ == nullptr) {
    state_ = State::lost;
    traffic_->ended(size_, 0, false);
    return;
  }
  state_ = State::under_way;
  // Traffic has counted one request for this load. Count the others.
  for (std::size_t part = 1; part < requests_.size(); part++) traffic_->note_request(0);
  try {
    begin();
  } catch (const std::exception&) {
    lose();
  }
}

/// The caller holds mutex_, so that on_answer() finds pending_ complete.
void FirstFetch::begin() {
  answers_.resize(requests_.size());
  pending_.resize(requests_.size());
  remaining_ = requests_.size();
  for (std::size_t part = 0; part < requests_.size(); part++)
    pending_[part] = client_->send(
        std::move(requests_[part]),
        [weak = weak_from_this(), part] {
          if (const auto self = weak.lock()) self->on_answer(part);
        },
        [weak = weak_from_this()](bool begins) {
          if (const auto self = weak.lock()) self->on_pause(begins);
        });
}

/// Runs in the client's thread.
void FirstFetch::on_pause(bool begins) noexcept {
  {
    const std::lock_guard guard(mutex_);
    if (state_ != State::under_way) return;
    begins ? ++pausing_ : --pausing_;
    update_pause();
  }
  traffic_->pump();
}

/// Reports to traffic_ when all requests that are left wait before a retry, and when one goes on.
/// The caller holds mutex_.
void FirstFetch::update_pause() {
  if (std::exchange(is_paused_, pausing_ >= remaining_) == (pausing_ >= remaining_)) return;
  is_paused_ ? traffic_->paused() : traffic_->resumed();
}

/// Runs in the client's thread.
void FirstFetch::on_answer(std::size_t part) noexcept {
  {
    const std::lock_guard guard(mutex_);
    if (state_ != State::under_way) return;
    try {
      answers_[part] = pending_[part].wait();
    } catch (const std::exception&) {
      // A reader that needs this answer sends the request again, and gets the error.
    }
    if (--remaining_ > 0) {
      update_pause();
    } else if (!answers_.front()) {
      lose();
    } else {
      std::size_t received = 0;
      for (const auto& answer : answers_) received += answer ? answer->body.size() : 0;
      end_as(State::here, received);
    }
  }
  traffic_->pump();
}

/// The transfers must be under way. The caller holds mutex_, except in the destructor.
void FirstFetch::end_as(State state, std::size_t received) {
  state_ = state;
  used_ = Clock::now();
  traffic_->ended(size_, received, is_paused_);
  changed_.notify_all();
}

/// Cancels the requests and drops the answers. The caller holds mutex_.
void FirstFetch::lose() {
  if (state_ == State::under_way) {
    for (PendingAnswer& pending : pending_) pending.cancel();
    end_as(State::lost, 0);
  }
  state_ = State::lost;
  answers_.clear();
  changed_.notify_all();
  if (std::exchange(is_counted_, false)) traffic_->released(size_);
}

void FirstFetch::wait() {
  std::unique_lock lock(mutex_);
  const auto over = [&] { return state_ >= State::here; };
  if (!over()) Interruption::before_wait();
  ++readers_;
  try {
    Interruption::wait(changed_, lock, over);
  } catch (...) {
    leave();
    throw;
  }
  --readers_;
  used_ = Clock::now();
}

/// Called without mutex_ when a reader was interrupted.
void FirstFetch::leave() noexcept {
  {
    const std::lock_guard guard(mutex_);
    if (--readers_ > 0 || state_ >= State::here) return;
    lose();
  }
  traffic_->pump();
}

FirstFetch::Answers FirstFetch::take() {
  Answers answers;
  {
    const std::lock_guard guard(mutex_);
    if (state_ != State::here) return {};
    answers = std::exchange(answers_, {});
    lose();
  }
  traffic_->pump();
  return answers;
}

bool FirstFetch::has_arrived() const {
  const std::lock_guard guard(mutex_);
  return state_ == State::here;
}

bool FirstFetch::is_lost() const {
  const std::lock_guard guard(mutex_);
  return state_ == State::lost;
}

void FirstFetch::detach() {
  {
    const std::lock_guard guard(mutex_);
    client_ = nullptr;
    lose();
  }
  traffic_->pump();
}

bool FirstFetch::drop_idle() noexcept {
  {
    const std::lock_guard guard(mutex_);
    if (state_ == State::lost) return false;
    if (readers_ > 0 || Clock::now() - used_ < kUnclaimed) return true;
    lose();
  }
  traffic_->pump();
  return false;
}

}  // namespace bloscfs::frame::inline remote
