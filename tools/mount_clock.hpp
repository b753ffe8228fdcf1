#pragma once
// The time of a daemon.

#include "frame/store/clock.hpp"

namespace bloscfs::tools {

/// The system's. Called once, before the sandbox. The tests' daemon has another definition, by
/// which a test moves the daemon's time (tests/support/daemon_clock.cpp); no installed program has
/// it.
const frame::Clock& mount_clock();

}  // namespace bloscfs::tools
