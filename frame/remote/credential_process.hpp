#pragma once
// Runs a user's program that prints credentials.

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace bloscfs::frame::inline remote {

/// Runs `command` in the shell and returns its output: at most 64 KiB, within 30 seconds. Throws
/// RemoteError if the command fails, or `stopped` becomes true. Messages contain none of the
/// output.
std::vector<std::uint8_t> run_credential_process(const std::string& command,
                                                 const std::atomic<bool>& stopped);

}  // namespace bloscfs::frame::inline remote
