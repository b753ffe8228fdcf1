#pragma once
// Reads what the kernel knows of a process from /proc.

#include <cstdint>
#include <map>
#include <string>

#include <sys/types.h>

#include "tests/support/subprocess.hpp"

namespace bloscfs::test {

/// Returns the counters of /proc/PID/io: "rchar", "syscr", "read_bytes", ...
std::map<std::string, std::uint64_t> process_io(pid_t pid);
/// Returns in bytes a field of /proc/PID/status that the kernel gives in kB (such as "VmHWM").
std::uint64_t process_memory(pid_t pid, const std::string& field);
/// Returns the text of a field of /proc/PID/status; empty if the field or the process is missing.
std::string process_status(pid_t pid, const std::string& key);
/// Waits until a thread, or the first thread of a process, is blocked in the system call `call`
/// (SYS_...). False if that does not happen within a minute.
bool comes_to_call(pid_t thread, long call);
/// Returns the user and system time that a process has used so far.
Seconds process_cpu(pid_t pid);

}  // namespace bloscfs::test
