#pragma once
// Blocks signals for threads that must not receive any.

#include <csignal>

namespace bloscfs::frame::inline remote {

/// Threads that start while one exists receive no signals. Signals are for the program's own
/// threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace bloscfs::frame::inline remote
