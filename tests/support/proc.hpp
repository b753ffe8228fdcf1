#pragma once
// What the kernel counts for a process.

#include <cstdint>
#include <map>
#include <string>

#include <sys/types.h>

#include "tests/support/subprocess.hpp"

namespace bloscfs::test {

/// /proc/PID/io: "rchar", "syscr", "read_bytes", ...
std::map<std::string, std::uint64_t> process_io(pid_t pid);
/// A field of /proc/PID/status that is given in kB ("VmHWM"), in bytes.
std::uint64_t process_memory(pid_t pid, const std::string& field);
/// The same as it stands there; empty where there is none.
std::string process_status(pid_t pid, const std::string& key);
/// Waits until a thread, or the first thread of a process, is blocked in that system call
/// (SYS_...). False if it is not within a minute.
bool comes_to_call(pid_t thread, long call);
/// User and system time so far.
Seconds process_cpu(pid_t pid);

}  // namespace bloscfs::test
