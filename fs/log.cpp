#include "fs/log.hpp"

#include <memory>
#include <string>
#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>

#include "fs/printable.hpp"

namespace bloscfs::fs::log {
namespace {

void use_logger(std::shared_ptr<spdlog::logger> logger, const std::string& pattern,
                const std::string& end) {
  logger->set_formatter(
      std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::local, end));
  spdlog::set_default_logger(std::move(logger));
}

void write(spdlog::level::level_enum level, std::string_view message) {
  spdlog::log(level, spdlog::string_view_t(printable(message)));
}

}  // namespace

void use(Target target) {
  switch (target) {
    case Target::terminal:
      return use_logger(spdlog::stderr_logger_mt("bloscfs"), "%+", "\n");
    case Target::plain:
      return use_logger(spdlog::stderr_logger_st("b2frame"), "b2frame: %v", "\n");
    case Target::system_log:
      return use_logger(
          spdlog::syslog_logger_mt("bloscfs-daemon", "bloscfs", LOG_PID, LOG_USER, true), "%v", "");
  }
}

void info(std::string_view message) { write(spdlog::level::info, message); }
void warn(std::string_view message) { write(spdlog::level::warn, message); }
void error(std::string_view message) { write(spdlog::level::err, message); }

}  // namespace bloscfs::fs::log
