#include "tests/support/proc.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/comes_true.hpp"

namespace bloscfs::test {

namespace {

std::string proc_file(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

/// Reads lines of the form "key: number ...".
std::map<std::string, std::uint64_t> numbers_of(const std::string& path) {
  std::ifstream file(path);
  std::map<std::string, std::uint64_t> numbers;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t value = 0;
    if (words >> key >> value) numbers[key.substr(0, key.size() - 1)] = value;
  }
  return numbers;
}

}  // namespace

std::map<std::string, std::uint64_t> process_io(pid_t pid) {
  return numbers_of(proc_file(pid, "io"));
}

std::uint64_t process_memory(pid_t pid, const std::string& field) {
  return numbers_of(proc_file(pid, "status")).at(field) * 1024;
}

std::string process_status(pid_t pid, const std::string& key) {
  std::ifstream file(proc_file(pid, "status"));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":\t")) return line.substr(key.size() + 2);
  return {};
}

bool comes_to_call(pid_t thread, long call) {
  const auto call_of = [](pid_t of) {
    std::ifstream file(proc_file(of, "syscall"));
    long number = -1;
    return file >> number ? number : -1;
  };
  // Under an emulator, /proc shows the system call numbers of the host, which may differ from
  // SYS_... of the emulated machine. The function then only checks that the thread sleeps.
  const bool is_emulated = call_of(::gettid()) != SYS_read;
  return comes_true([&] {
    return is_emulated ? process_status(thread, "State").starts_with("S") : call_of(thread) == call;
  });
}

Seconds process_cpu(pid_t pid) {
  std::ifstream file(proc_file(pid, "stat"));
  std::string line;
  std::getline(file, line);
  const auto after_name = line.rfind(')');
  if (after_name == std::string::npos) throw std::runtime_error("no such process");
  std::istringstream words(line.substr(after_name + 2));
  constexpr int kFieldsBeforeTimes = 11;  // state to cmajflt
  std::string skipped;
  for (int i = 0; i < kFieldsBeforeTimes; ++i) words >> skipped;
  double user = 0, system = 0;
  words >> user >> system;
  return Seconds((user + system) / static_cast<double>(sysconf(_SC_CLK_TCK)));
}

}  // namespace bloscfs::test
