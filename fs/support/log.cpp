#include "fs/support/log.hpp"

#include <cerrno>
#include <filesystem>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "fs/support/file_error.hpp"
#include "fs/support/log_allowance.hpp"
#include "fs/support/printable.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs::log {
namespace {

constexpr const char* kFullPattern = "%+";
constexpr const char* kLogName = "bloscfs";

/// Unlike spdlog's own sinks, takes an open file. Those sinks open files by name, with a mode that
/// depends on the umask.
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FileSink(frame::UniqueFd file) : file_(std::move(file)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    // One write per line, since other programs may append to the same file.
    [[maybe_unused]] const ssize_t written = ::write(file_.get(), line.data(), line.size());
  }
  void flush_() override {}

  frame::UniqueFd file_;
};

/// Returns the sink of the only logger. use_sink() can replace the sink behind it at any time.
spdlog::sinks::dist_sink_mt& place() {
  static const auto sink = [] {
    auto made = std::make_shared<spdlog::sinks::dist_sink_mt>();
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("bloscfs", made));
    return made;
  }();
  return *sink;
}

Mutex allowance_mutex;
/// Counts messages to the present target. use_sink() begins a new one.
LogAllowance allowance GUARDED_BY(allowance_mutex);

void use_sink(const spdlog::sink_ptr& sink, const std::string& pattern, const std::string& end) {
  sink->set_formatter(
      std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::local, end));
  place().set_sinks({sink});
  const MutexLock lock(allowance_mutex);
  allowance = {};
}

void write_line(spdlog::level::level_enum level, std::string_view message) {
  spdlog::log(level, spdlog::string_view_t(printable(message)));
}

/// Limits the number of messages that the requests of one user cause.
void write(spdlog::level::level_enum level, std::optional<uid_t> user, std::string_view message) {
  if (!user) return write_line(level, message);
  LogAllowance::Verdict verdict{};
  {
    const MutexLock lock(allowance_mutex);
    verdict = allowance.ask(*user, LogAllowance::Clock::now());
  }
  if (!verdict.may_be_logged) return;
  if (verdict.left_out > 0)
    write_line(level, fmt::format("{} more messages of what user {} asked for were left out",
                                  verdict.left_out, *user));
  write_line(level, message);
  if (verdict.is_last)
    write_line(level, fmt::format("more messages of what user {} asks for are left out", *user));
}

}  // namespace

void use(Target target) {
  switch (target) {
    case Target::terminal:
      return use_sink(std::make_shared<spdlog::sinks::stderr_sink_mt>(), kFullPattern, "\n");
    case Target::system_log:
      return use_sink(
          std::make_shared<spdlog::sinks::syslog_sink_mt>(kLogName, LOG_PID, LOG_USER, true), "%v",
          "");
  }
}

void use_plain(const std::string& program) {
  use_sink(std::make_shared<spdlog::sinks::stderr_sink_mt>(), program + ": %v", "\n");
}

void use(frame::UniqueFd file) {
  use_sink(std::make_shared<FileSink>(std::move(file)), kFullPattern, "\n");
}

void connect_system_log() { ::openlog(kLogName, LOG_PID | LOG_NDELAY, LOG_USER); }

frame::UniqueFd open_file(const std::string& path) {
  // O_NONBLOCK: if the file is a pipe, a slow reader must not block the daemon.
  frame::UniqueFd file(::open(
      path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0600));
  if (file) return file;
  const int error = errno;
  const std::string reason = frame::errno_code(error).message();
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code unreachable;
  if (error == ENOENT && !folder.empty() && !std::filesystem::exists(folder, unreachable))
    throw FileError(
        path, fmt::format("{}; make the directory {}, or correct log=", reason, folder.string()));
  throw FileError(path, reason);
}

void info(std::string_view message) { write_line(spdlog::level::info, message); }
void warn(std::string_view message) { write_line(spdlog::level::warn, message); }
void error(std::string_view message) { write_line(spdlog::level::err, message); }

void info(std::optional<uid_t> user, std::string_view message) {
  write(spdlog::level::info, user, message);
}
void warn(std::optional<uid_t> user, std::string_view message) {
  write(spdlog::level::warn, user, message);
}
void error(std::optional<uid_t> user, std::string_view message) {
  write(spdlog::level::err, user, message);
}

}  // namespace bloscfs::fs::log
