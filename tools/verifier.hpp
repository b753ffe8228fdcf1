#pragma once
// Decodes all parts of a container, and reports what is wrong with each of them.

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "tools/input.hpp"

namespace bloscfs::tools {

/// The state of a file, or of a part of it. The worst state is last.
enum class Health {
  ok,
  unsupported,  ///< needs a codec, filter or version that is missing here
  too_large,    ///< needs more memory or work than one file may have
  unreadable,   ///< no permission, no memory, or a disk error
  no_contents,  ///< sound, but says only how to get its contents
  damaged,
};

/// Returns the name for --json.
const char* health_name(Health health);
/// Returns what an error says about the state of its source.
Health health_of(const std::exception& error);

struct Finding {
  std::string part;  ///< "chunk 3", "vlmetalayer NAME"; empty: the whole file
  Health health;
  std::string reason;
  std::int64_t chunk = -1;  ///< number, if the part is a chunk
};

class Verifier {
 public:
  using Report = std::function<void(const Finding&)>;
  /// Called with the share of the work that is done, from 0 to 1.
  using Done = std::function<void(double part)>;

  /// The thread that calls run() also calls `report` and `done`, with findings in the order of the
  /// parts. `threads` threads decode chunks. The work ends after `most_decoded` decoded bytes, and
  /// a finding too_large says so. Each thread may finish its current chunk.
  /// Messages are about a file of this name.
  Verifier(Input& input, std::string name, std::size_t threads, Report report, Done done,
           std::int64_t most_decoded = std::numeric_limits<std::int64_t>::max())
      : input_(input),
        name_(std::move(name)),
        threads_(threads),
        report_(std::move(report)),
        done_(std::move(done)),
        most_decoded_(most_decoded) {}

  void run();
  /// Like run(), but decodes only every `step`th chunk, and no metalayer.
  void run_sample(std::int64_t step);

 private:
  bool is_at_limit() const { return decoded_ > most_decoded_; }
  void report_limit();
  void check_page(const frame::IndexPage& page);
  /// Decodes every `step`th chunk of a small range with all threads.
  void check_chunks(std::int64_t first, std::int64_t end, std::int64_t step);
  void check_alike(std::int64_t first, std::int64_t end);
  void check_metalayers();
  void check_contents();
  void report(const std::string& part, const std::exception_ptr& error, std::int64_t chunk = -1);
  void report(const std::string& part, Health health, std::string text, std::int64_t chunk);

  Input& input_;
  const std::string name_;
  const std::size_t threads_;
  const Report report_;
  const Done done_;
  const std::int64_t most_decoded_;
  std::atomic<std::int64_t> decoded_{0};  ///< bytes, plus kPerChunk for each chunk
  std::string reported_unsupported_;      ///< last reason; equal reasons are reported once
};

}  // namespace bloscfs::tools
