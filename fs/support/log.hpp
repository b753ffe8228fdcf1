#pragma once
// The log messages of the programs. Each message is one printable line.

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "frame/store/byte_source.hpp"

namespace bloscfs::fs::log {

/// Where messages go, and in which form.
enum class Target {
  terminal,    ///< stderr, as `[time] [bloscfs] [level] text`
  system_log,  ///< syslog, as `bloscfs[pid]: text`
};

/// Sends all later messages to `target`, also those of other threads. Before the first call,
/// messages go to spdlog's default logger.
void use(Target target);
/// Sends messages to stderr, as `program: text`.
void use_plain(const std::string& program);
/// Appends messages to a file, in the form for terminals. Messages that cannot be written are lost.
void use(frame::UniqueFd file);

/// Connects to the system log, so that it works later in a sandbox where its socket is not
/// reachable.
void connect_system_log();

/// Opens a log file, or creates one with mode 0600. Throws FileError.
frame::UniqueFd open_file(const std::string& path);

void info(std::string_view message);
void warn(std::string_view message);
void error(std::string_view message);

/// For messages that are caused by requests of `user`. Each user may cause 100 messages at once,
/// then 10 a minute. The log counts the messages that it drops, and reports their number. Without a
/// user there is no limit.
void info(std::optional<uid_t> user, std::string_view message);
void warn(std::optional<uid_t> user, std::string_view message);
void error(std::optional<uid_t> user, std::string_view message);

}  // namespace bloscfs::fs::log
