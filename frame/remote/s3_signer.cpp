#include "frame/remote/s3_signer.hpp"

#include <ctime>
#include <exception>
#include <utility>

#include "frame/remote/s3_signature.hpp"
#include "frame/remote/signals_blocked.hpp"

namespace bloscfs::frame::inline remote {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kBetweenLooks{1};

}  // namespace

S3Signer::S3Signer(S3Credentials first, std::string region,
                   std::shared_ptr<CredentialsSource> source,
                   std::function<void(const std::string&)> notice, std::string service)
    : region_(std::move(region)),
      service_(std::move(service)),
      source_(std::move(source)),
      notice_(std::move(notice)),
      credentials_(std::make_shared<const S3Credentials>(std::move(first))),
      last_look_(steady_clock::now()) {
  if (!source_) return;
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

std::vector<HttpHeader> S3Signer::sign(const WebRequest& request,
                                       const std::vector<HttpHeader>& headers) const {
  std::shared_ptr<const S3Credentials> credentials;
  {
    const std::lock_guard guard(mutex_);
    credentials = credentials_;
    if (source_ && !is_look_due_ && steady_clock::now() - last_look_ >= kBetweenLooks) {
      is_look_due_ = true;
      changed_.notify_all();
    }
  }
  return s3_signature(*credentials, region_, request, headers, std::time(nullptr), service_);
}

std::string S3Signer::origin() const {
  const std::lock_guard guard(mutex_);
  return credentials_->origin;
}

std::uint64_t S3Signer::version() const {
  const std::lock_guard guard(mutex_);
  return version_;
}

bool S3Signer::has_expired() const {
  const std::lock_guard guard(mutex_);
  return source_ && credentials_->expires != 0 && credentials_->expires <= std::time(nullptr);
}

void S3Signer::renew(std::uint64_t version, const std::function<void()>& done) {
  {
    const std::lock_guard guard(mutex_);
    // A request that has not been signed yet has version 0.
    const bool is_replaced = version != 0 && version != version_;
    if (source_ && !is_replaced && !stopping_) {
      waiting_.push_back(done);
      changed_.notify_all();
      return;
    }
  }
  done();
}

void S3Signer::stop() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (!thread_.joinable()) return;
  source_->stop();
  thread_.join();
}

void S3Signer::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || is_look_due_ || !waiting_.empty(); });
    if (stopping_) return;
    const auto waiting = std::exchange(waiting_, {});
    lock.unlock();
    auto found = look_up(waiting.empty() ? CredentialsSource::Look::if_changed
                                         : CredentialsSource::Look::again);
    lock.lock();
    last_look_ = steady_clock::now();
    is_look_due_ = false;
    if (found && *found != *credentials_) {
      credentials_ = std::make_shared<const S3Credentials>(std::move(*found));
      version_++;
    }
    if (stopping_) return;
    lock.unlock();
    for (const auto& done : waiting) done();
    lock.lock();
  }
}

std::optional<S3Credentials> S3Signer::look_up(CredentialsSource::Look look) {
  std::string problem = "no credentials found";
  try {
    if (auto found = source_->find(look)) {
      was_notified_ = false;
      return found;
    }
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (notice_ && !std::exchange(was_notified_, true))
    notice_("credentials: cannot renew: " + problem + "; using the old ones until they expire");
  return std::nullopt;
}

}  // namespace bloscfs::frame::inline remote
