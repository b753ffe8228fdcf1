#include "tools/credentials_process.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <system_error>
#include <thread>

#include <poll.h>
#include <sys/socket.h>

#include "frame/remote/remote_error.hpp"

namespace bloscfs::tools {
namespace {

using frame::CredentialsSource;
using frame::RemoteError;
using frame::S3Credentials;

template <std::size_t kSize>
struct Text {
  char bytes[kSize + 1];

  void set(const std::string& text) {
    std::memset(&bytes[0], 0, sizeof bytes);
    std::copy_n(text.data(), std::min(text.size(), kSize), &bytes[0]);
  }
  std::string get() const { return {&bytes[0], ::strnlen(&bytes[0], kSize)}; }
};

/// The answer to a Look. Neither side trusts the other, so sizes are fixed, and a text may lack its
/// terminating zero.
struct Answer {
  int error;  ///< 0: none
  bool is_found;
  std::int64_t expires;
  Text<frame::kMaxKey> access_key, secret_key;
  Text<frame::kMaxSessionToken> session_token;
  Text<500> origin, problem;
};

void set_problem(Answer& answer, int error, const char* text) {
  answer.error = error != 0 ? error : EIO;
  answer.problem.set(text);
}

void fill(Answer& answer, CredentialsSource& source, CredentialsSource::Look look) {
  try {
    const auto found = source.find(look);
    answer.is_found = found.has_value();
    if (!found) return;
    answer.access_key.set(found->access_key);
    answer.secret_key.set(found->secret_key);
    answer.session_token.set(found->session_token);
    answer.expires = found->expires;
    answer.origin.set(found->origin);
  } catch (const RemoteError& error) {
    set_problem(answer, error.code().value(), error.explanation().c_str());
  } catch (const std::exception& error) {
    set_problem(answer, EIO, error.what());
  }
}

/// Stops the source once the daemon has closed the socket.
void stop_with_daemon(int socket, CredentialsSource& source) {
  pollfd end{socket, POLLRDHUP, 0};
  while (::poll(&end, 1, -1) < 0 && errno == EINTR) {
  }
  source.stop();
}

/// Answers the questions of the daemon until the socket is closed. A question is one byte: 0 for
/// Look::if_changed, else Look::again.
void answer_all(int socket, CredentialsSource& source) {
  std::thread(stop_with_daemon, socket, std::ref(source)).detach();
  const auto answer = std::make_unique<Answer>();
  for (std::uint8_t look = 0; fs::receive_message(socket, look);) {
    std::memset(static_cast<void*>(answer.get()), 0, sizeof *answer);
    fill(*answer, source,
         look == 0 ? CredentialsSource::Look::if_changed : CredentialsSource::Look::again);
    if (!fs::send_message(socket, *answer)) return;
  }
}

}  // namespace

CredentialsProcess::CredentialsProcess(std::shared_ptr<CredentialsSource> source)
    : process_("bloscfs-keys",
               [source = std::move(source)](int socket) { answer_all(socket, *source); }) {}

std::optional<S3Credentials> CredentialsProcess::find(Look look) {
  const std::lock_guard guard(mutex_);
  const std::uint8_t question = look == Look::again ? 1 : 0;
  const auto answer = std::make_unique<Answer>();
  if (!fs::send_message(process_.socket(), question) ||
      !fs::receive_message(process_.socket(), *answer))
    throw RemoteError(EIO, "the process that looks up credentials has ended");
  if (answer->error != 0) throw RemoteError(answer->error, answer->problem.get());
  if (!answer->is_found) return std::nullopt;
  return frame::checked({answer->access_key.get(), answer->secret_key.get(),
                         answer->session_token.get(), answer->expires, answer->origin.get()});
}

/// Closing the connection also ends the process.
void CredentialsProcess::stop() { ::shutdown(process_.socket(), SHUT_RDWR); }

}  // namespace bloscfs::tools
