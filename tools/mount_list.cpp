// bloscfs --list: lists the mounts.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "frame/header/msgpack_json.hpp"
#include "fs/fuse/mount_answer.hpp"
#include "fs/mount/mount_question.hpp"
#include "fs/source/local/files/mount_users.hpp"
#include "fs/support/printable.hpp"
#include "fs/view/attributes.hpp"
#include "tools/mounts_commands.hpp"
#include "tools/size_text.hpp"
#include "tools/text_columns.hpp"
#include "tools/version.hpp"

namespace bloscfs::tools {
namespace {

using nlohmann::json;

/// Time limit for the answers of all mounts together, so that a daemon that hangs does not block
/// the list.
constexpr std::chrono::seconds kTimeout{2};

struct Listed {
  fs::MountEntry mount;
  const char* state = "mounted";  ///< or "dead", "no_answer" or "hidden"
  std::optional<fs::DaemonNumbers> numbers;
  std::optional<pid_t> pid;
};

/// True if a later mount covers this one, so that its path leads to the later one.
bool is_hidden(const std::vector<fs::MountEntry>& table, std::size_t at) {
  const std::string path = table[at].point + "/";
  return std::any_of(
      table.begin() + static_cast<std::ptrdiff_t>(at) + 1, table.end(),
      [&](const fs::MountEntry& later) { return path.starts_with(later.point + "/"); });
}

/// Asks the daemon of a mount for its numbers, in a child process. Returns null if no process could
/// be started.
std::unique_ptr<fs::MountQuestion> ask(const fs::MountEntry& mount) {
  try {
    return std::make_unique<fs::MountQuestion>(
        mount, [] { return fs::read_root_attribute(fs::kStatsAttribute); });
  } catch (const std::system_error&) {
    return nullptr;
  }
}

/// Waits for the answer to `question`, which may be null. Returns nullopt if the daemon denies the
/// caller access.
std::optional<Listed> look_at(const fs::MountEntry& mount, fs::MountQuestion* question,
                              std::chrono::milliseconds timeout) {
  Listed listed;
  listed.mount = mount;
  try {
    const auto answer = question != nullptr ? question->wait(timeout) : std::nullopt;
    listed.numbers = fs::parse_numbers(answer.value_or(""));
    listed.pid = listed.numbers->pid;
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::permission_denied) return std::nullopt;
    listed.state = error.code() == std::errc::not_connected ? "dead" : "no_answer";
  } catch (const std::runtime_error&) {
    listed.state = "no_answer";
    listed.pid = fs::daemon_of(mount);
  }
  return listed;
}

/// Asks all daemons at once. Then waits for their answers, up to kTimeout for all together.
std::vector<Listed> all_mounts() {
  using Clock = std::chrono::steady_clock;
  std::vector<fs::MountEntry> mounts;
  std::vector<Listed> all;
  const std::vector<fs::MountEntry> table = fs::mount_table();
  for (std::size_t i = 0; i < table.size(); i++) {
    if (table[i].type != fs::kMountType) continue;
    if (!is_hidden(table, i))
      mounts.push_back(table[i]);
    else if (::geteuid() == 0 || ::geteuid() == table[i].user)
      all.push_back({table[i], "hidden", std::nullopt, fs::daemon_of(table[i])});
  }
  std::vector<std::unique_ptr<fs::MountQuestion>> questions;
  questions.reserve(mounts.size());
  for (const fs::MountEntry& mount : mounts) questions.push_back(ask(mount));
  const auto end = Clock::now() + kTimeout;
  for (std::size_t i = 0; i < mounts.size(); i++) {
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (auto listed = look_at(mounts[i], questions[i].get(), rest))
      all.push_back(*std::move(listed));
  }
  return all;
}

void print_json(const Listed& listed) {
  json line{{"mountpoint", listed.mount.point},
            {"source", listed.mount.source},
            {"read_only", listed.mount.read_only},
            {"user", listed.mount.user},
            {"state", listed.state},
            {"pid", listed.pid ? json(*listed.pid) : json()},
            {"dirty_bytes", json()},
            {"cache_bytes", json()},
            {"cache_size", json()},
            {"failing_files", json()},
            {"rescued_files", json()},
            {"version", json()}};
  if (const auto& numbers = listed.numbers)
    line.update({{"dirty_bytes", numbers->dirty_bytes},
                 {"cache_bytes", numbers->cache_bytes},
                 {"cache_size", numbers->cache_size},
                 {"failing_files", numbers->failing_files},
                 {"rescued_files", numbers->rescued_files},
                 {"version", numbers->version}});
  fmt::print("{}\n", frame::to_line(line));
}

std::string size_of(const Listed& listed, std::uint64_t fs::DaemonNumbers::*number) {
  return listed.numbers ? size_text(static_cast<double>((*listed.numbers).*number)) : "-";
}

std::string count_of(const Listed& listed, std::uint64_t fs::DaemonNumbers::*number) {
  return listed.numbers ? std::to_string((*listed.numbers).*number) : "-";
}

std::string version_of(const Listed& listed) {
  if (!listed.numbers) return "-";
  return listed.numbers->version.empty() ? "unknown" : listed.numbers->version;
}

void print_table(const std::vector<Listed>& all) {
  std::vector<std::vector<std::string>> rows{{"MOUNTPOINT", "SOURCE", "MODE", "DIRTY", "FAILING",
                                              "RESCUED", "CACHE", "LIMIT", "PID", "VERSION"}};
  for (const Listed& listed : all) {
    const std::string state = listed.state;
    const std::string mode = listed.mount.read_only ? "ro" : "rw";
    const std::string pid = listed.pid ? std::to_string(*listed.pid) : "-";
    rows.push_back({listed.mount.point, listed.mount.source,
                    state == "mounted"     ? mode
                    : state == "no_answer" ? "no answer"
                                           : state,
                    size_of(listed, &fs::DaemonNumbers::dirty_bytes),
                    count_of(listed, &fs::DaemonNumbers::failing_files),
                    count_of(listed, &fs::DaemonNumbers::rescued_files),
                    size_of(listed, &fs::DaemonNumbers::cache_bytes),
                    size_of(listed, &fs::DaemonNumbers::cache_size), pid, version_of(listed)});
  }
  using enum Align;
  if (!all.empty())
    fmt::print("{}", text_columns(
                         {left, left, left, right, right, right, right, right, right, left}, rows));
  for (const Listed& listed : all)
    if (listed.numbers && listed.numbers->version != version_text())
      fmt::print(stderr,
                 "bloscfs: {}: runs another version than this program, which is {}; unmount it and "
                 "mount it again\n",
                 fs::printable(listed.mount.point), version_text());
}

}  // namespace

int list_mounts(bool as_json) {
  const std::vector<Listed> all = all_mounts();
  if (!as_json) {
    print_table(all);
    return 0;
  }
  for (const Listed& listed : all) print_json(listed);
  return 0;
}

}  // namespace bloscfs::tools
