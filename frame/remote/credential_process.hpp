#pragma once
// Runs a user's program that prints credentials.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace bloscfs::frame::inline remote {

/// Runs `command` in the shell and returns what it has printed when the shell ends: at most 64 KiB.
/// Throws RemoteError if the command fails, takes longer than `longest`, or `stopped` becomes true,
/// and kills what still runs. Messages contain none of the output.
std::vector<std::uint8_t> run_credential_process(const std::string& command,
                                                 std::chrono::milliseconds longest,
                                                 const std::atomic<bool>& stopped);

}  // namespace bloscfs::frame::inline remote
