#pragma once
// The clock of a daemon.

#include "frame/store/clock.hpp"

namespace bloscfs::tools {

/// Returns the system's clock. Must be called once, before the daemon enters the sandbox. The
/// daemon for tests has another definition, with which a test moves the daemon's time
/// (tests/support/daemon_clock.cpp). No installed program contains it.
const frame::Clock& mount_clock();

}  // namespace bloscfs::tools
