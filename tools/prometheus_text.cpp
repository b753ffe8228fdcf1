#include "tools/prometheus_text.hpp"

#include <array>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "fs/support/printable.hpp"

namespace bloscfs::tools {
namespace {

struct Metric {
  const char* counter;  ///< its name in the attribute user.bloscfs.stats
  const char* name;
  const char* type;
  const char* help;
  double divisor = 1;  ///< from the counter to the metric
};

constexpr std::array kMetrics = {
    Metric{"cache_hits", "cache_hits_total", "counter", "blocks found in the cache"},
    Metric{"cache_misses", "cache_misses_total", "counter", "blocks that had to be decoded"},
    Metric{"cache_evictions", "cache_evictions_total", "counter", "blocks evicted from the cache"},
    Metric{"cache_bytes", "cache_bytes", "gauge", "bytes in the cache"},
    Metric{"cache_size", "cache_size_bytes", "gauge", "the option cache_size"},
    Metric{"blocks_decoded", "blocks_decoded_total", "counter", "blocks decoded"},
    Metric{"chunks_opened", "chunks_opened_total", "counter", "chunks opened"},
    Metric{"contents_bytes_read", "read_bytes_total", "counter", "bytes that programs read"},
    Metric{"source_reads", "source_reads_total", "counter", "reads of SOURCE"},
    Metric{"source_bytes_read", "source_read_bytes_total", "counter", "bytes read of SOURCE"},
    Metric{"network_requests", "network_requests_total", "counter", "requests to the server"},
    Metric{"network_bytes_received", "network_received_bytes_total", "counter",
           "bytes received from the server"},
    Metric{"dirty_bytes", "dirty_bytes", "gauge", "bytes that are not committed yet"},
    Metric{"dirty_limit", "dirty_limit_bytes", "gauge", "the option dirty_limit"},
    Metric{"commits", "commits_total", "counter", "commits of files"},
    Metric{"commit_failures", "commit_failures_total", "counter", "failed commits of files"},
    Metric{"failing_files", "failing_files", "gauge", "files whose last commit failed"},
    Metric{"rescued_files", "rescued_files", "gauge", "frames that wait for b2frame recover"},
    Metric{"checksum_failures", "checksum_failures_total", "counter", "wrong checksums of chunks"},
    Metric{"io_errors", "io_errors_total", "counter", "failed reads of SOURCE or of its contents"},
    Metric{"conflicts", "conflicts_total", "counter", "conflict files made"},
    Metric{"uptime_ms", "uptime_seconds", "gauge", "time since the mount", 1e3},
};

/// Upper bounds of the buckets for durations, in microseconds.
constexpr std::array<std::uint64_t, 6> kBounds = {100,     1'000,     10'000,
                                                  100'000, 1'000'000, 10'000'000};
/// Divides, since a product with 1e-6 is not the nearest number, and is printed with 17 digits.
constexpr double kMicroseconds = 1e6;

std::string label(std::string_view value) {
  std::string text;
  for (const char c : fs::printable(std::string(value))) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return "\"" + text + "\"";
}

std::string labels(const fs::MountEntry& mount) {
  return fmt::format("mountpoint={},source={}", label(mount.point), label(mount.source));
}

/// Values from /proc/PID/stat of the daemon: proc(5), fields 14, 15 and 24.
struct Process {
  double cpu_seconds = 0;
  double resident_bytes = 0;
};

std::optional<Process> process_of(const MountSample& sample) {
  std::ifstream file(fmt::format("/proc/{}/stat", sample.counters.value("pid", 0)));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // Field 2 is the process's name in parentheses, which can contain anything. Field 3 follows it.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  constexpr int kUserTime = 14, kSystemTime = 15, kResident = 24;
  Process process;
  double ticks = 0;
  std::string field;
  for (int number = 3; number <= kResident && fields >> field; number++) {
    const double value = std::strtod(field.c_str(), nullptr);
    if (number == kUserTime || number == kSystemTime) ticks += value;
    if (number == kResident)
      process.resident_bytes = value * static_cast<double>(::sysconf(_SC_PAGESIZE));
  }
  process.cpu_seconds = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return process;
}

class Page {
 public:
  explicit Page(const std::vector<MountReading>& readings) : readings_(readings) {}

  /// Adds a metric. `lines` returns the lines of one mount, perhaps none.
  void add(std::string_view name, std::string_view type, std::string_view help,
           const std::function<std::string(const std::string& name, const MountReading&)>& lines) {
    const std::string full = fmt::format("bloscfs_{}", name);
    std::string text;
    for (const MountReading& reading : readings_) text += lines(full, reading);
    if (text.empty()) return;
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3}", full, help, type, text);
  }

  void add_value(std::string_view name, std::string_view type, std::string_view help,
                 const std::function<std::optional<double>(const MountSample&)>& value) {
    add(name, type, help, [&](const std::string& full, const MountReading& reading) {
      const auto found = reading.sample ? value(*reading.sample) : std::nullopt;
      return found ? fmt::format("{}{{{}}} {}\n", full, labels(reading.mount), *found) : "";
    });
  }

  /// Adds a metric for each operation. `lines` returns the lines of one operation of one mount.
  void add_operations(
      std::string_view name, std::string_view type, std::string_view help,
      const std::function<std::string(const std::string& name, const std::string& labels,
                                      const OperationCounts&)>& lines) {
    add(name, type, help, [&](const std::string& full, const MountReading& reading) {
      std::string text;
      if (!reading.sample) return text;
      for (const auto& [operation, counts] : reading.sample->operations)
        text += lines(full, fmt::format("{},operation={}", labels(reading.mount), label(operation)),
                      counts);
      return text;
    });
  }

  const std::string& text() const { return text_; }

 private:
  const std::vector<MountReading>& readings_;
  std::string text_;
};

std::string histogram(const std::string& name, const std::string& labels,
                      const OperationCounts& counts) {
  std::string text;
  for (const std::uint64_t bound : kBounds) {
    std::uint64_t within = 0;
    for (const auto& [longest, count] : counts.buckets)
      if (longest <= bound) within += count;
    text += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels,
                        static_cast<double>(bound) / kMicroseconds, within);
  }
  return text + fmt::format(
                    "{0}_bucket{{{1},le=\"+Inf\"}} {2}\n{0}_sum{{{1}}} {3}\n{0}_count{{{1}}} "
                    "{2}\n",
                    name, labels, counts.count,
                    static_cast<double>(counts.total_us) / kMicroseconds);
}

}  // namespace

std::string prometheus_text(const std::vector<MountReading>& readings) {
  Page page(readings);
  page.add("up", "gauge", "1 if the daemon of the mount answers",
           [](const std::string& name, const MountReading& reading) {
             return fmt::format("{}{{{}}} {}\n", name, labels(reading.mount),
                                reading.sample ? 1 : 0);
           });
  page.add("mount_info", "gauge", "the version of the daemon; always 1",
           [](const std::string& name, const MountReading& reading) {
             if (!reading.sample) return std::string();
             return fmt::format("{}{{{},version={}}} 1\n", name, labels(reading.mount),
                                label(reading.sample->counters.value("version", "")));
           });
  for (const Metric& metric : kMetrics)
    page.add_value(metric.name, metric.type, metric.help, [&](const MountSample& sample) {
      const auto found = sample.counters.find(metric.counter);
      if (found == sample.counters.end() || !found->is_number()) return std::optional<double>();
      return std::optional(found->get<double>() / metric.divisor);
    });
  page.add_value("process_cpu_seconds_total", "counter", "processor time of the daemon",
                 [](const MountSample& sample) -> std::optional<double> {
                   const auto process = process_of(sample);
                   return process ? std::optional(process->cpu_seconds) : std::nullopt;
                 });
  page.add_value("process_resident_memory_bytes", "gauge", "resident memory of the daemon",
                 [](const MountSample& sample) -> std::optional<double> {
                   const auto process = process_of(sample);
                   return process ? std::optional(process->resident_bytes) : std::nullopt;
                 });
  page.add_operations(
      "operation_bytes_total", "counter", "bytes moved by requests",
      [](const std::string& name, const std::string& labels, const OperationCounts& counts) {
        return fmt::format("{}{{{}}} {}\n", name, labels, counts.bytes);
      });
  page.add_operations("operation_duration_seconds", "histogram", "how long requests took",
                      histogram);
  return page.text();
}

}  // namespace bloscfs::tools
