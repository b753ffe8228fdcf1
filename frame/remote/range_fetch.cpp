#include "frame/remote/range_fetch.hpp"

#include <cerrno>
#include <new>
#include <utility>

#include "frame/remote/remote_error.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::frame::inline remote {
namespace {

/// True if the server refuses the request, perhaps because the target of a redirect was valid only
/// for a while.
bool is_refusal(const RemoteError& error) {
  return error.code() == std::errc(EACCES) || error.code() == std::errc(ENOENT);
}

}  // namespace

RangeFetch::RangeFetch(std::shared_ptr<FetchSource> source, std::uint64_t begin, std::uint64_t end)
    : source_(std::move(source)), begin_(begin), end_(end) {}

RangeFetch::RangeFetch(std::shared_ptr<FetchSource> source, std::uint64_t begin,
                       std::vector<std::uint8_t> bytes)
    : source_(std::move(source)),
      begin_(begin),
      end_(begin + bytes.size()),
      state_(State::here),
      is_counted_(true),
      bytes_(std::move(bytes)) {
  source_->traffic->hold(size());
}

RangeFetch::~RangeFetch() {
  if (state_ == State::under_way) end_as(State::given_up, 0);
  if (is_counted_) source_->traffic->released(size());
}

void RangeFetch::start() noexcept {
  const std::lock_guard guard(mutex_);
  is_counted_ = true;
  // The last waiting reader was interrupted before the start.
  if (state_ != State::waiting) {
    source_->traffic->ended(size(), 0, false);
    return;
  }
  state_ = State::under_way;
  mark_ = source_->speed.begin();
  try {
    ask(source_->requests->request_for(begin_, size()));
  } catch (const RemoteError& error) {
    fail(error.code().value(), error.explanation());
  } catch (const std::exception&) {
    fail(ENOMEM, {});
  }
}

/// The caller holds mutex_, so that on_answer() finds pending_ set.
void RangeFetch::ask(RangeRequest request) {
  request_ = request;
  pending_ = source_->requests->send(
      std::move(request),
      [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->on_answer();
      },
      [weak = weak_from_this()](bool begins) {
        if (const auto self = weak.lock()) self->on_pause(begins);
      });
}

/// Runs in the client's thread.
void RangeFetch::on_pause(bool begins) noexcept {
  {
    const std::lock_guard guard(mutex_);
    if (state_ != State::under_way) return;
    is_paused_ = begins;
    begins ? source_->traffic->paused() : source_->traffic->resumed();
  }
  source_->traffic->pump();
}

/// Runs in the client's thread.
void RangeFetch::on_answer() noexcept {
  {
    const std::lock_guard guard(mutex_);
    if (state_ != State::under_way) return;
    try {
      if (!take_answer()) return;
    } catch (const RemoteError& error) {
      fail(error.code().value(), error.explanation());
    } catch (const std::exception&) {
      fail(ENOMEM, {});
    }
  }
  source_->traffic->pump();
}

/// Returns false if the target of a redirect refused the request, which is now sent to the URL that
/// was opened.
bool RangeFetch::take_answer() {
  try {
    HttpAnswer answer = pending_.wait();
    source_->requests->accept(answer);
    if (source_->cached) source_->cached->keep(begin_, answer.body);
    bytes_ = std::move(answer.body);
  } catch (const RemoteError& error) {
    if (!is_refusal(error) || source_->requests->has_original_url(request_)) throw;
    ask(source_->requests->with_original_url(request_));
    return false;
  }
  source_->speed.end(mark_, bytes_.size());
  end_as(State::here, bytes_.size());
  return true;
}

void RangeFetch::fail(int error, std::string why) {
  error_ = error;
  error_text_ = std::move(why);
  end_as(State::failed, 0);
}

/// The transfer must be under way. The caller holds mutex_, except in the destructor.
void RangeFetch::end_as(State state, std::size_t received) {
  state_ = state;
  source_->traffic->ended(size(), received, is_paused_);
  if (state == State::given_up) pending_.cancel();
  changed_.notify_all();
}

Bytes RangeFetch::wait() {
  std::unique_lock lock(mutex_);
  if (!is_over()) Interruption::before_wait();
  ++readers_;
  try {
    wait_until_over(lock);
  } catch (...) {
    leave();
    throw;
  }
  --readers_;
  if (state_ == State::given_up) return {};
  if (state_ == State::failed) throw RemoteError(error_, error_text_);
  return bytes_;
}

void RangeFetch::wait_until_over(std::unique_lock<std::mutex>& lock) {
  Interruption::wait(changed_, lock, [&] { return is_over(); });
}

/// Called without mutex_ when a reader was interrupted.
void RangeFetch::leave() noexcept {
  {
    const std::lock_guard guard(mutex_);
    if (--readers_ > 0 || is_over()) return;
    if (state_ == State::under_way)
      end_as(State::given_up, 0);
    else
      state_ = State::given_up;
  }
  source_->traffic->pump();
}

bool RangeFetch::is_lost() const {
  const std::lock_guard guard(mutex_);
  return state_ == State::failed || state_ == State::given_up;
}

bool RangeFetch::has_arrived() const {
  const std::lock_guard guard(mutex_);
  return state_ == State::here;
}

bool RangeFetch::is_waited_for() const {
  const std::lock_guard guard(mutex_);
  return readers_ > 0;
}

}  // namespace bloscfs::frame::inline remote
