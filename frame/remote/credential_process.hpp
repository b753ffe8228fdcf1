#pragma once
// A program of the user's that prints credentials.

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace bloscfs::frame::inline remote {

/// What `command`, run by the shell, prints: at most 64 KiB, within 30 seconds. Throws RemoteError
/// if the command fails, or `stopped` becomes true; messages contain nothing that it printed.
std::vector<std::uint8_t> run_credential_process(const std::string& command,
                                                 const std::atomic<bool>& stopped);

}  // namespace bloscfs::frame::inline remote
