#include "frame/remote/http_client.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "frame/remote/remote_error.hpp"
#include "frame/remote/signals_blocked.hpp"
#include "frame/remote/transfer.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::frame::inline remote {

/// One request with all its attempts, shared by the client's thread and the waiting thread.
/// Thread-safe.
struct Exchange {
  explicit Exchange(WebRequest wanted) : request(std::move(wanted)) {}

  const WebRequest request;
  std::function<void()> wake;     ///< wakes the client's thread, so that it sees `cancelled`
  std::function<void()> on_done;  ///< may be empty, like `on_paused`
  std::function<void(bool)> on_paused;

  std::mutex mutex;
  std::condition_variable changed;
  bool cancelled = false, done = false;
  HttpAnswer answer;
  int error = 0;  ///< with its explanation in `why`; 0: none
  std::string why;

  void finish(HttpAnswer result);
  void fail(int number, std::string reason);
};

void Exchange::finish(HttpAnswer result) {
  {
    const std::lock_guard guard(mutex);
    answer = std::move(result);
    done = true;
    changed.notify_all();
  }
  if (on_done) on_done();
}

void Exchange::fail(int number, std::string reason) {
  {
    const std::lock_guard guard(mutex);
    error = number;
    why = std::move(reason);
    done = true;
    changed.notify_all();
  }
  if (on_done) on_done();
}

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{100}, kLongestPause{5000};
/// Longest wait of the client's thread. Events wake it earlier.
constexpr milliseconds kIdle{60'000};

struct FreeMulti {
  void operator()(CURLM* handle) const { ::curl_multi_cleanup(handle); }
};

/// An exchange, as the client's thread sees it.
struct Task {
  std::shared_ptr<Exchange> exchange;
  HttpPlace place;
  int redirects = 0, attempts = 0;
  bool answered = false;               ///< the server has answered one of the attempts
  bool is_paused = false;              ///< on_paused(true) was called
  Clock::TimePoint began, due;         ///< by wait_clock()
  std::unique_ptr<Transfer> transfer;  ///< of an attempt that is under way, or was refused
  Verdict verdict;                     ///< of a refused attempt
  std::uint64_t version = 0;           ///< of the credentials of the attempt
  /// Becomes true once the credentials have been looked up for this task, which happens once.
  std::shared_ptr<std::atomic<bool>> renewed;
};

}  // namespace

class HttpClient::Loop {
 public:
  explicit Loop(HttpSettings settings) : settings_(std::move(settings)) {
    static const CURLcode ready = ::curl_global_init(CURL_GLOBAL_DEFAULT);
    if (ready != CURLE_OK) throw RemoteError(EIO, "libcurl cannot be used");
    // access(2) is not used, because a sandbox may refuse it.
    if (!settings_.netrc.empty() &&
        ::faccessat(AT_FDCWD, settings_.netrc.c_str(), R_OK, AT_EACCESS) != 0)
      throw RemoteError(errno, settings_.netrc);
    multi_.reset(::curl_multi_init());
    if (!multi_) throw std::bad_alloc();
    connections_ = std::max(1U, settings_.connections);
    const auto connections = static_cast<long>(connections_);
    ::curl_multi_setopt(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, connections);
    ::curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, connections);
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
  }

  ~Loop() { stop(); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void stop() {
    {
      const std::lock_guard guard(mutex_);
      stopping_ = true;
    }
    wake();
    if (thread_.joinable()) thread_.join();
  }

  void add(std::shared_ptr<Exchange> exchange) {
    {
      const std::lock_guard guard(mutex_);
      incoming_.push_back(std::move(exchange));
    }
    wake();
  }

  void stop_signer() {
    if (settings_.signer) settings_.signer->stop();
  }

  void wake() { ::curl_multi_wakeup(multi_.get()); }
  std::uint64_t requests() const { return requests_; }
  std::uint64_t bytes_received() const { return bytes_received_; }

 private:
  void run() {
    while (take_incoming()) {
      drop_cancelled();
      resume_renewed();
      start_due();
      int running = 0;
      ::curl_multi_perform(multi_.get(), &running);
      const bool changed = finish_ended();
      const milliseconds pause = changed ? milliseconds{0} : pause_until_due();
      ::curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(pause.count()), nullptr);
    }
    for (auto& [handle, task] : running_) {
      ::curl_multi_remove_handle(multi_.get(), handle);
      task.exchange->fail(ECANCELED, "given up");
    }
    running_.clear();
    for (Task& task : waiting_) task.exchange->fail(ECANCELED, "given up");
    waiting_.clear();
    for (Task& task : refused_) task.exchange->fail(ECANCELED, "given up");
    refused_.clear();
  }

  /// Returns false when the client is being destroyed. waiting_ then has all requests that came.
  bool take_incoming() {
    const std::lock_guard guard(mutex_);
    for (auto& exchange : incoming_) {
      Task task;
      task.place = exchange->request.place;
      task.exchange = std::move(exchange);
      task.due = wait_clock().now();
      waiting_.push_back(std::move(task));
    }
    incoming_.clear();
    return !stopping_;
  }

  static bool drop_if_cancelled(const Task& task) {
    {
      const std::lock_guard guard(task.exchange->mutex);
      if (!task.exchange->cancelled) return false;
    }
    task.exchange->fail(ECANCELED, "given up");
    return true;
  }

  void drop_cancelled() {
    waiting_.remove_if(drop_if_cancelled);
    refused_.remove_if(drop_if_cancelled);
    for (auto at = running_.begin(); at != running_.end();) {
      if (!drop_if_cancelled(at->second)) {
        ++at;
        continue;
      }
      ::curl_multi_remove_handle(multi_.get(), at->first);
      bytes_received_ += at->second.transfer->body_bytes();
      at = running_.erase(at);
    }
  }

  void start_due() {
    const auto now = wait_clock().now();
    for (auto at = waiting_.begin(); at != waiting_.end() && running_.size() < connections_;) {
      if (at->due > now) {
        ++at;
        continue;
      }
      Task task = std::move(*at);
      at = waiting_.erase(at);
      guarded(task, [&] { start(task); });
    }
  }

  /// Runs `work`. An exception ends only the task's exchange, and not the thread.
  template <typename Work>
  static void guarded(const Task& task, const Work& work) {
    const std::shared_ptr<Exchange> exchange = task.exchange;
    try {
      work();
    } catch (const std::bad_alloc&) {
      exchange->fail(ENOMEM, {});
    } catch (const std::exception& problem) {
      exchange->fail(EIO, problem.what());
    }
  }

  void start(Task& task) {
    if (task.attempts == 0 && task.redirects == 0) task.began = wait_clock().now();
    if (std::exchange(task.is_paused, false) && task.exchange->on_paused)
      task.exchange->on_paused(false);
    if (settings_.signer) {
      if (!task.renewed && settings_.signer->has_expired()) return renew(std::move(task));
      task.version = settings_.signer->version();
    }
    task.transfer =
        std::make_unique<Transfer>(task.exchange->request, task.place, settings_, sockets_);
    CURL* handle = task.transfer->handle();
    const auto at = running_.emplace(handle, std::move(task)).first;
    if (::curl_multi_add_handle(multi_.get(), handle) != CURLM_OK) {
      running_.erase(at);
      throw std::bad_alloc();
    }
    ++requests_;
  }

  bool finish_ended() {
    bool changed = false;
    int left = 0;
    while (const CURLMsg* message = ::curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      const auto at = running_.find(message->easy_handle);
      ::curl_multi_remove_handle(multi_.get(), message->easy_handle);
      if (at == running_.end()) continue;
      Task task = std::move(at->second);
      running_.erase(at);
      bytes_received_ += task.transfer->body_bytes();
      changed = true;
      guarded(task, [&] { conclude(std::move(task), code); });
    }
    return changed;
  }

  void conclude(Task task, CURLcode code) {
    task.verdict = task.transfer->judge(code);
    task.answered |= task.verdict.answered;
    has_answered_ |= task.verdict.answered;
    if (task.verdict.refuses_credentials && !task.renewed) return renew(std::move(task));
    act_on_verdict(std::move(task));
  }

  void act_on_verdict(Task task) {
    const std::unique_ptr<Transfer> transfer = std::move(task.transfer);
    const Verdict verdict = std::move(task.verdict);
    if (verdict.kind != Verdict::Kind::passing && std::exchange(is_out_, false) && settings_.notice)
      settings_.notice(task.place.url.shown() + ": answers again");
    switch (verdict.kind) {
      case Verdict::Kind::good:
        return task.exchange->finish(transfer->take());
      case Verdict::Kind::redirect:
        return follow(std::move(task), verdict);
      case Verdict::Kind::passing:
        return try_again(std::move(task), verdict);
      case Verdict::Kind::final:
        return fail(task, verdict.error, verdict.text);
    }
  }

  /// Puts the task into refused_ until the credentials have been looked up again.
  void renew(Task task) {
    task.renewed = std::make_shared<std::atomic<bool>>(false);
    settings_.signer->renew(task.version, [renewed = task.renewed, exchange = task.exchange] {
      *renewed = true;
      exchange->wake();
    });
    refused_.push_back(std::move(task));
  }

  void resume_renewed() {
    for (auto at = refused_.begin(); at != refused_.end();) {
      if (!*at->renewed) {
        ++at;
        continue;
      }
      Task task = std::move(*at);
      at = refused_.erase(at);
      guarded(task, [&] { resume(std::move(task)); });
    }
  }

  void resume(Task task) {
    if (task.transfer && settings_.signer->version() == task.version)
      // The lookup found the same credentials, so the refusal stands.
      return act_on_verdict(std::move(task));
    task.transfer.reset();
    task.place = task.exchange->request.place;
    task.redirects = 0;
    task.due = wait_clock().now();
    waiting_.push_front(std::move(task));
  }

  static void fail(const Task& task, int error, std::string text) {
    if (!(task.place.url == task.exchange->request.place.url))
      text += " at " + task.place.url.shown();
    task.exchange->fail(error, std::move(text));
  }

  void follow(Task task, const Verdict& verdict) {
    if (++task.redirects > settings_.most_redirects)
      return fail(task, EIO, fmt::format("more than {} redirects", settings_.most_redirects));
    task.place = verdict.next;
    task.due = wait_clock().now();
    waiting_.push_front(std::move(task));
  }

  void try_again(Task task, const Verdict& verdict) {
    const bool is_once = !task.exchange->request.retries;
    const milliseconds time =
        is_once ? std::min(settings_.retry_time, kRetriesOfOnce) : settings_.retry_time;
    const auto left =
        std::chrono::duration_cast<milliseconds>(task.began + time - wait_clock().now());
    milliseconds pause = std::min(next_pause(task.attempts++), std::max(left, milliseconds{0}));
    if (verdict.retry_after.count() > 0)
      pause = std::min<milliseconds>(verdict.retry_after, std::max(left, milliseconds{0}));
    if (!has_answered_ && !settings_.retries_first_contact)
      return fail(task, verdict.error, verdict.text);
    if (left.count() <= 0 || (is_once && !verdict.not_done))
      return fail(task, task.answered ? EIO : ETIMEDOUT,
                  fmt::format("{}, tried {} times in {} s", verdict.text, task.attempts,
                              std::chrono::round<std::chrono::seconds>(time - left).count()));
    // One warning for an outage, however many requests meet it.
    if (!std::exchange(is_out_, true) && settings_.notice)
      settings_.notice(fmt::format("{}: {}: retrying for up to {} s", task.place.url.shown(),
                                   verdict.text,
                                   std::chrono::ceil<std::chrono::seconds>(left).count()));
    task.place = task.exchange->request.place;
    task.redirects = 0;
    task.due = wait_clock().now() + pause;
    const auto exchange = task.exchange;
    waiting_.push_back(std::move(task));
    waiting_.back().is_paused = true;
    if (exchange->on_paused) exchange->on_paused(true);
  }

  milliseconds next_pause(int attempts) {
    const milliseconds full = std::min(kLongestPause, kFirstPause * (1 << std::min(attempts, 10)));
    return milliseconds(std::uniform_int_distribution(full.count() / 2, full.count())(random_));
  }

  milliseconds pause_until_due() const {
    if (running_.size() >= connections_) return kIdle;
    milliseconds pause = kIdle;
    for (const Task& task : waiting_)
      pause =
          std::min(pause, std::chrono::ceil<milliseconds>(wait_clock().before_next_look(task.due)));
    return std::max(pause, milliseconds{0});
  }

  const HttpSettings settings_;
  std::size_t connections_ = 1;
  Connections sockets_;
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::atomic<std::uint64_t> requests_{0}, bytes_received_{0};

  std::mutex mutex_;
  std::deque<std::shared_ptr<Exchange>> incoming_;
  bool stopping_ = false;

  // For the client's thread only.
  bool has_answered_ = false;
  bool is_out_ = false;  ///< a request was tried again, and none has succeeded since
  std::list<Task> waiting_;
  std::list<Task> refused_;  ///< tasks whose credentials are being looked up
  std::map<CURL*, Task> running_;
  std::mt19937 random_{std::random_device{}()};

  std::thread thread_;
};

PendingAnswer& PendingAnswer::operator=(PendingAnswer&& other) noexcept {
  cancel();
  exchange_ = std::move(other.exchange_);
  return *this;
}

HttpAnswer PendingAnswer::wait() {
  if (!exchange_) throw std::logic_error("no answer is pending");
  std::unique_lock lock(exchange_->mutex);
  const auto is_over = [&] { return exchange_->done || exchange_->cancelled; };
  Interruption::wait(exchange_->changed, lock, is_over);
  if (!exchange_->done) throw RemoteError(ECANCELED, "given up");
  if (exchange_->error != 0) throw RemoteError(exchange_->error, exchange_->why);
  return std::move(exchange_->answer);
}

void PendingAnswer::cancel() {
  if (!exchange_) return;
  {
    const std::lock_guard guard(exchange_->mutex);
    if (exchange_->done) return;
    exchange_->cancelled = true;
    exchange_->changed.notify_all();
  }
  exchange_->wake();
}

HttpClient::HttpClient(HttpSettings settings)
    : loop_(std::make_shared<Loop>(std::move(settings))) {}

/// Also stops the signer. Its thread may own the loop for a moment, and must not destroy it.
HttpClient::~HttpClient() {
  loop_->stop();
  loop_->stop_signer();
}

PendingAnswer HttpClient::send(WebRequest request, std::function<void()> on_done,
                               std::function<void(bool)> on_paused) {
  auto exchange = std::make_shared<Exchange>(std::move(request));
  exchange->on_done = std::move(on_done);
  exchange->on_paused = std::move(on_paused);
  exchange->wake = [loop = std::weak_ptr<Loop>(loop_)] {
    if (const auto present = loop.lock()) present->wake();
  };
  loop_->add(exchange);
  return PendingAnswer(std::move(exchange));
}

std::uint64_t HttpClient::requests() const { return loop_->requests(); }
std::uint64_t HttpClient::bytes_received() const { return loop_->bytes_received(); }

}  // namespace bloscfs::frame::inline remote
