// bloscfs --list: which mounts there are.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "fs/fuse/mount_question.hpp"
#include "fs/view/attributes.hpp"
#include "tools/mounts_commands.hpp"
#include "tools/size_text.hpp"
#include "tools/text_columns.hpp"

namespace bloscfs::tools {
namespace {

using nlohmann::json;

/// For the answers of all mounts together: one whose daemon is stuck keeps nobody.
constexpr std::chrono::seconds kPatience{2};

struct Listed {
  fs::MountEntry mount;
  const char* state = "mounted";  ///< or "dead", or "no_answer"
  json stats = json::object();
};

/// Nullopt for one that does not let the caller in.
std::optional<Listed> look_at(const fs::MountEntry& mount, fs::MountQuestion& question,
                              std::chrono::milliseconds patience) {
  Listed listed{mount};
  try {
    const auto answer = question.wait(patience);
    listed.stats = json::parse(answer.value_or(""), nullptr, false);
    if (listed.stats.is_object()) return listed;
    listed.state = "no_answer";
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::permission_denied) return std::nullopt;
    listed.state = error.code() == std::errc::not_connected ? "dead" : "no_answer";
  }
  listed.stats = json::object();
  return listed;
}

std::vector<Listed> all_mounts() {
  using Clock = std::chrono::steady_clock;
  std::vector<fs::MountEntry> mounts;
  for (fs::MountEntry& mount : fs::mount_table())
    if (mount.type == fs::kMountType) mounts.push_back(std::move(mount));
  std::vector<std::unique_ptr<fs::MountQuestion>> questions;
  questions.reserve(mounts.size());
  for (const fs::MountEntry& mount : mounts)
    questions.push_back(std::make_unique<fs::MountQuestion>(
        mount, [] { return fs::read_root_attribute(fs::kStatsAttribute); }));
  const auto end = Clock::now() + kPatience;
  std::vector<Listed> all;
  for (std::size_t i = 0; i < mounts.size(); i++) {
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (auto listed = look_at(mounts[i], *questions[i], rest)) all.push_back(*std::move(listed));
  }
  return all;
}

void print_json(const Listed& listed) {
  json line{{"mountpoint", listed.mount.point},
            {"source", listed.mount.source},
            {"read_only", listed.mount.read_only},
            {"user", listed.mount.user},
            {"state", listed.state}};
  for (const char* key : {"pid", "dirty_bytes", "cache_bytes", "cache_size"})
    line[key] = listed.stats.contains(key) ? listed.stats[key] : json();
  fmt::print("{}\n", line.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string size_of(const Listed& listed, const char* key) {
  return listed.stats.contains(key) ? size_text(listed.stats.value(key, 0.0)) : "-";
}

void print_table(const std::vector<Listed>& all) {
  std::vector<std::vector<std::string>> rows{
      {"MOUNTPOINT", "SOURCE", "MODE", "DIRTY", "CACHE", "LIMIT", "PID"}};
  for (const Listed& listed : all) {
    const std::string state = listed.state;
    const std::string mode = listed.mount.read_only ? "ro" : "rw";
    const std::string pid =
        listed.stats.contains("pid") ? listed.stats["pid"].dump() : std::string("-");
    rows.push_back({listed.mount.point, listed.mount.source,
                    state == "mounted" ? mode
                    : state == "dead"  ? state
                                       : "no answer",
                    size_of(listed, "dirty_bytes"), size_of(listed, "cache_bytes"),
                    size_of(listed, "cache_size"), pid});
  }
  using enum Align;
  if (!all.empty())
    fmt::print("{}", text_columns({left, left, left, right, right, right, right}, rows));
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
