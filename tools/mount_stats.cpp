// bloscfs --stats: what a mount does, and what its requests wait for.

#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "frame/header/msgpack_json.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/support/printable.hpp"
#include "tools/mount_sample.hpp"
#include "tools/mounts_commands.hpp"
#include "tools/prometheus_text.hpp"
#include "tools/size_text.hpp"
#include "tools/text_columns.hpp"

namespace bloscfs::tools {
namespace {

using nlohmann::json;
using Cells = std::vector<std::string>;

constexpr std::chrono::seconds kInterval{1};
constexpr unsigned kMedian = 50, kAlmostAll = 99;
constexpr std::size_t kMostShown = 20;  // requests

double rate(const MountSample& sample, std::uint64_t count) {
  return sample.seconds > 0 ? static_cast<double>(count) / sample.seconds : 0;
}

/// Returns the share of requested blocks that were in the cache; nullopt if no block was requested.
std::optional<double> hit_ratio(const MountSample& sample) {
  const auto hits = static_cast<double>(sample.counted("cache_hits"));
  const double all = hits + static_cast<double>(sample.counted("cache_misses"));
  if (all == 0) return std::nullopt;
  return hits / all;
}

std::string size_of(const MountSample& sample, const char* name) {
  return size_text(sample.counters.value(name, 0.0));
}

std::string operations_table(const MountSample& sample) {
  std::vector<Cells> rows{
      {"OPERATION", "REQUESTS", "PER SECOND", "BYTES", "PER SECOND", "P50", "P99"}};
  for (const auto& [name, counts] : sample.operations) {
    if (counts.count == 0) continue;
    const bool moves = counts.bytes > 0;
    rows.push_back({name, std::to_string(counts.count),
                    fmt::format("{:.1f}", rate(sample, counts.count)),
                    moves ? size_text(static_cast<double>(counts.bytes)) : "",
                    moves ? size_text(rate(sample, counts.bytes)) : "",
                    time_text(static_cast<double>(counts.percentile(kMedian))),
                    time_text(static_cast<double>(counts.percentile(kAlmostAll)))});
  }
  using enum Align;
  return text_columns({left, right, right, right, right, right, right}, rows);
}

std::string state_text(const MountSample& sample) {
  const auto ratio = hit_ratio(sample);
  std::string text = fmt::format(
      "cache    {} of {}, hits {}\n"
      "source   {} reads, {} a second\n"
      "writing  {} of {} not committed, commits {}, failed {}\n",
      size_of(sample, "cache_bytes"), size_of(sample, "cache_size"),
      ratio ? fmt::format("{:.1f} %", *ratio * 100) : "-", sample.counted("source_reads"),
      size_text(rate(sample, sample.counted("source_bytes_read"))), size_of(sample, "dirty_bytes"),
      size_of(sample, "dirty_limit"), sample.counted("commits"), sample.counted("commit_failures"));
  if (sample.counters.contains("network_requests"))
    text += fmt::format("network  {} requests, {} a second\n", sample.counted("network_requests"),
                        size_text(rate(sample, sample.counted("network_bytes_received"))));
  return text;
}

std::string wait_text(const json& request) {
  const std::string reason = request.value("waits_for", "");
  if (reason.empty()) return "works";
  return fmt::format("{} {}", reason, time_text(request.value("waits_us", 0.0)));
}

std::string requests_table(const MountSample& sample) {
  if (!sample.requests.is_array() || sample.requests.empty()) return "";
  std::vector<Cells> rows{{"UNDER WAY", "FOR", "WAITS FOR", "PROCESS", "USER", "NAME"}};
  for (const json& request : sample.requests) {
    if (rows.size() > kMostShown) break;
    const std::string name = request.value("name", "");
    rows.push_back(
        {request.value("operation", ""), time_text(request.value("age_us", 0.0)),
         wait_text(request), std::to_string(request.value("process", 0)),
         std::to_string(request.value("user", 0U)),
         name.empty() ? fmt::format("node {}", request.value("node", std::uint64_t{0})) : name});
  }
  using enum Align;
  std::string text = text_columns({left, right, left, right, right, left}, rows);
  if (sample.requests.size() > kMostShown)
    text += fmt::format("and {} more\n", sample.requests.size() - kMostShown);
  return text;
}

std::string page_of(const fs::MountEntry& mount, const MountSample& sample, bool is_interval) {
  std::string text =
      fmt::format("{}: {}, process {}, {} {}\n\n", fs::printable(mount.point),
                  fs::printable(mount.source), sample.counters.value("pid", 0),
                  is_interval ? "the last" : "since the mount,", time_text(sample.seconds * 1e6));
  text += operations_table(sample) + "\n" + state_text(sample);
  if (const std::string requests = requests_table(sample); !requests.empty())
    text += "\n" + requests;
  return text;
}

json json_of(const fs::MountEntry& mount, const MountSample& sample) {
  json operations = json::object();
  for (const auto& [name, counts] : sample.operations)
    if (counts.count > 0)
      operations[name] = {{"count", counts.count},
                          {"per_second", rate(sample, counts.count)},
                          {"bytes", counts.bytes},
                          {"bytes_per_second", rate(sample, counts.bytes)},
                          {"p50_us", counts.percentile(kMedian)},
                          {"p99_us", counts.percentile(kAlmostAll)}};
  const auto ratio = hit_ratio(sample);
  json object{{"mountpoint", mount.point},           {"source", mount.source},
              {"seconds", sample.seconds},           {"hit_ratio", ratio ? json(*ratio) : json()},
              {"operations", std::move(operations)}, {"counters", sample.counters}};
  if (!sample.requests.is_null()) object["requests"] = sample.requests;
  return object;
}

/// Cuts the page to the size of the terminal. The text overwrites the previous screen.
std::string screen_of(const std::string& page) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    size = {24, 80, 0, 0};
  std::string text = "\033[H";
  std::istringstream lines(page);
  std::string line;
  for (int row = 1; row < size.ws_row && std::getline(lines, line); row++)
    text += first_characters(line, size.ws_col) + "\033[K\n";
  return text + "\033[J";
}

void put_out(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    throw std::system_error(errno, std::generic_category(), "standard output");
}

void print(const StatsRequest& request, const fs::MountEntry& mount, const MountSample& sample) {
  if (request.json) return put_out(frame::to_line(json_of(mount, sample)) + "\n");
  const std::string page = page_of(mount, sample, request.watch);
  const bool is_screen = request.watch && ::isatty(STDOUT_FILENO) == 1;
  put_out(is_screen ? screen_of(page) : page + (request.watch ? "\n" : ""));
}

/// Prints the given mount. If `mountpoint` is empty, prints all mounts whose daemons let the caller
/// in.
void print_for_prometheus(const std::string& mountpoint) {
  std::vector<MountReading> readings;
  for (fs::MountEntry& mount : fs::mount_table()) {
    if (mount.type != fs::kMountType || (!mountpoint.empty() && mount.point != mountpoint))
      continue;
    try {
      readings.push_back({mount, take_sample(mount)});
    } catch (const std::system_error& error) {
      if (error.code() != std::errc::permission_denied) readings.push_back({mount, std::nullopt});
    } catch (const std::runtime_error&) {
      readings.push_back({mount, std::nullopt});
    }
  }
  put_out(prometheus_text(readings));
}

void run(const StatsRequest& request) {
  if (request.mountpoint.empty()) return print_for_prometheus({});
  const auto mount = fs::mount_at(request.mountpoint);
  if (!mount || mount->type != fs::kMountType)
    throw std::invalid_argument("no bloscfs is mounted there");
  if (request.prometheus) return print_for_prometheus(mount->point);
  MountSample last = take_sample(*mount);
  if (!request.watch) return print(request, *mount, last);
  for (;;) {
    std::this_thread::sleep_for(kInterval);
    MountSample now = take_sample(*mount);
    print(request, *mount, now.since(last));
    last = std::move(now);
  }
}

/// Returns what to tell the user if a daemon could not be asked.
std::string reason_of(const std::system_error& error) {
  if (error.code() == std::errc::not_connected)
    return "its daemon has died; unmount it, and mount it again";
  // The question reached the directory below the mount.
  if (error.code() == std::errc::no_message_available)
    return "was unmounted; bloscfs --list shows the mounts";
  return fmt::format("cannot ask its daemon: {}; its log may tell why", error.code().message());
}

}  // namespace

int show_stats(const StatsRequest& request) {
  try {
    run(request);
    return 0;
  } catch (const std::system_error& error) {
    fmt::print(stderr, "bloscfs: {}: {}\n", fs::printable(request.mountpoint), reason_of(error));
  } catch (const std::exception& error) {
    fmt::print(stderr, "bloscfs: {}: {}\n", fs::printable(request.mountpoint),
               fs::printable(error.what()));
  }
  return 1;
}

}  // namespace bloscfs::tools
