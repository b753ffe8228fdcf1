#pragma once
// What the programs tell beside their results: messages of one printable line each.

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "frame/store/byte_source.hpp"

namespace bloscfs::fs::log {

/// Where messages go, and how they begin.
enum class Target {
  terminal,    ///< stderr, as `[time] [bloscfs] [level] text`
  system_log,  ///< syslog, as `bloscfs[pid]: text`
};

/// Other threads may be logging; until the first call messages go to spdlog's default.
void use(Target target);
/// Sends messages to stderr, as `program: text`.
void use_plain(const std::string& program);
/// Appends messages to a file, in the form that terminals get. What cannot be written is lost.
void use(frame::UniqueFd file);

/// Connects to the system's log, so that it can be used where its socket is not to be seen.
void connect_system_log();

/// Opens a file for that, or makes one that only the owner may read. Throws FileError.
frame::UniqueFd open_file(const std::string& path);

void info(std::string_view message);
void warn(std::string_view message);
void error(std::string_view message);

/// For messages that requests of `user` cause: each user may cause 100 at once, then 10 a minute.
/// The log counts the rest. Without a user there is no limit.
void info(std::optional<uid_t> user, std::string_view message);
void warn(std::optional<uid_t> user, std::string_view message);
void error(std::optional<uid_t> user, std::string_view message);

}  // namespace bloscfs::fs::log
