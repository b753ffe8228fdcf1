#include "fs/log.hpp"

#include <memory>
#include <string>
#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>

#include "fs/printable.hpp"

namespace bloscfs::fs::log {
namespace {

/// What the one logger writes to: a sink that another one can take the place of at any time.
spdlog::sinks::dist_sink_mt& place() {
  static const auto sink = [] {
    auto made = std::make_shared<spdlog::sinks::dist_sink_mt>();
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("bloscfs", made));
    return made;
  }();
  return *sink;
}

void use_sink(const spdlog::sink_ptr& sink, const std::string& pattern, const std::string& end) {
  sink->set_formatter(
      std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::local, end));
  place().set_sinks({sink});
}

void write(spdlog::level::level_enum level, std::string_view message) {
  spdlog::log(level, spdlog::string_view_t(printable(message)));
}

}  // namespace

void use(Target target) {
  switch (target) {
    case Target::terminal:
      return use_sink(std::make_shared<spdlog::sinks::stderr_sink_mt>(), "%+", "\n");
    case Target::plain:
      return use_sink(std::make_shared<spdlog::sinks::stderr_sink_mt>(), "b2frame: %v", "\n");
    case Target::system_log:
      return use_sink(
          std::make_shared<spdlog::sinks::syslog_sink_mt>("bloscfs", LOG_PID, LOG_USER, true), "%v",
          "");
  }
}

void info(std::string_view message) { write(spdlog::level::info, message); }
void warn(std::string_view message) { write(spdlog::level::warn, message); }
void error(std::string_view message) { write(spdlog::level::err, message); }

}  // namespace bloscfs::fs::log
