#pragma once
// Decodes everything of one container, and tells what is wrong with each of its parts.

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "tools/input.hpp"

namespace bloscfs::tools {

/// What a file, or a part of one, was found to be; the worst last.
enum class Health {
  ok,
  unsupported,  ///< of a codec, a filter or a version that is missing here
  too_large,    ///< needs more memory or work than one file may have
  unreadable,   ///< for want of a permission, of memory, or by an error of the disk
  no_contents,  ///< sound, but says only how to get its contents
  damaged,
};

/// As --json spells it.
const char* health_name(Health health);
/// What an error says about what it came from.
Health health_of(const std::exception& error);

struct Finding {
  std::string part;  ///< "chunk 3", "vlmetalayer NAME"; empty: the whole file
  Health health;
  std::string reason;
  std::int64_t chunk = -1;  ///< of one chunk: its number
};

class Verifier {
 public:
  using Report = std::function<void(const Finding&)>;
  /// Called with how much of the whole, from 0 to 1, is done.
  using Done = std::function<void(double part)>;

  /// Both are called by the thread that calls run(), findings in the order of the parts; chunks are
  /// decoded by `threads`. When more than `most_decoded` bytes were decoded the rest is left, and a
  /// finding too_large says so; each thread may finish the chunk that it is at.
  Verifier(Input& input, std::size_t threads, Report report, Done done,
           std::int64_t most_decoded = std::numeric_limits<std::int64_t>::max())
      : input_(input),
        threads_(threads),
        report_(std::move(report)),
        done_(std::move(done)),
        most_decoded_(most_decoded) {}

  void run();
  /// The same of every `step`th chunk, and of no metalayer.
  void run_sample(std::int64_t step);

 private:
  bool is_at_limit() const { return decoded_ > most_decoded_; }
  void report_limit();
  void check_page(const frame::IndexPage& page);
  /// Each `step`th of a few, by all threads.
  void check_chunks(std::int64_t first, std::int64_t end, std::int64_t step);
  void check_alike(std::int64_t first, std::int64_t end);
  void check_metalayers();
  void check_contents();
  void report(const std::string& part, const std::exception_ptr& error, std::int64_t chunk = -1);
  void report(const std::string& part, Health health, std::string text, std::int64_t chunk);

  Input& input_;
  const std::size_t threads_;
  const Report report_;
  const Done done_;
  const std::int64_t most_decoded_;
  std::atomic<std::int64_t> decoded_{0};  ///< bytes, and kPerChunk for each chunk
  std::string told_unsupported_;          ///< the reason: told of the first chunk, not of all alike
};

}  // namespace bloscfs::tools
