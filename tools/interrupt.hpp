#pragma once
// Lets SIGINT, SIGTERM and SIGHUP end long work in an orderly way, so that it leaves no temporary
// files behind.

#include <exception>

namespace bloscfs::tools {

/// Passes through everything up to the program's end, which then is that of the signal.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  int signal() const { return signal_; }
  const char* what() const noexcept override { return "interrupted"; }

 private:
  int signal_;
};

/// From now on these signals (unless they are ignored, as by nohup) are only taken note of; a
/// second one ends the program at once.
void note_interrupts();

/// Throws Interrupted if a signal has come.
void throw_if_interrupted();

/// Is readable once a signal has come; -1 before note_interrupts().
int interrupt_descriptor();

}  // namespace bloscfs::tools
