#include "tools/verifier.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "fs/view/stored_contents.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::tools {
namespace {

/// Limit for the contents of a metalayer. The format allows 32-bit lengths, but a small hostile
/// metalayer must not be able to grow to that size.
constexpr std::size_t kMaxMetalayer = std::size_t{64} << 20;
/// Memory for reading a metalayer, as a multiple of its size: its contents, its stored bytes, and
/// scratch memory of the filters.
constexpr std::int64_t kMetalayerCopies = 3;
/// The cost of opening a chunk, as the number of bytes that could be decoded in that time.
constexpr std::int64_t kPerChunk = 4096;
/// Findings are reported after each group of this many chunks.
constexpr std::int64_t kChunksAtOnce = 256;

}  // namespace

const char* health_name(Health health) {
  switch (health) {
    case Health::ok:
      return "ok";
    case Health::unsupported:
      return "unsupported";
    case Health::too_large:
      return "too_large";
    case Health::unreadable:
      return "unreadable";
    case Health::no_contents:
      return "no_contents";
    case Health::damaged:
      break;
  }
  return "damaged";
}

Health health_of(const std::exception& error) {
  if (const auto* format = dynamic_cast<const codec::Error*>(&error)) {
    if (format->code() == codec::FormatErrc::unsupported) return Health::unsupported;
    return format->code() == codec::FormatErrc::too_large ? Health::too_large : Health::damaged;
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return Health::unreadable;
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  // ENOENT means that a named file, or a file that a frame needs, is missing.
  if (system == nullptr || system->code() == std::errc(ENOENT)) return Health::damaged;
  return Health::unreadable;
}

void Verifier::run() {
  check_metalayers();
  check_contents();
  if (input_.snapshot().all_chunks_special())
    check_alike(0, input_.info().nchunks);
  else
    for_each_page(input_.reader(), [this](const frame::IndexPage& page) {
      check_page(page);
      return !is_at_limit();
    });
  report_limit();
}

void Verifier::report_limit() {
  if (!is_at_limit()) return;
  report_({"", Health::too_large,
           fmt::format("verified in part: all of it needs more than {} bytes decoded; --limit "
                       "allows more",
                       most_decoded_)});
}

void Verifier::run_sample(std::int64_t step) {
  check_contents();
  const std::int64_t count = input_.info().nchunks;
  if (input_.snapshot().all_chunks_special()) return check_alike(0, count);
  // The product must not overflow.
  const std::int64_t at_once = step > count / kChunksAtOnce ? count : kChunksAtOnce * step;
  for (std::int64_t first = 0; first < count; first += std::min(at_once, count - first))
    check_chunks(first, std::min(count - first, at_once) + first, step);
}

void Verifier::check_page(const frame::IndexPage& page) {
  const std::int64_t end = page.first_chunk() + page.chunk_count();
  if (page.uniform_special()) return check_alike(page.first_chunk(), end);
  for (std::int64_t first = page.first_chunk(); first < end && !is_at_limit();
       first += kChunksAtOnce)
    check_chunks(first, std::min(end, first + kChunksAtOnce), 1);
}

void Verifier::check_chunks(std::int64_t first, std::int64_t end, std::int64_t step) {
  std::vector<std::exception_ptr> errors(
      static_cast<std::size_t>(codec::ceil_div(end - first, step)));
  const std::int64_t count = std::ssize(errors);
  std::atomic<std::int64_t> next{0};
  const auto check_some = [&](const Done& done) {
    fs::Request request;
    for (std::int64_t i = next++; i < count && !is_at_limit(); i = next++) {
      const std::int64_t chunk = first + i * step;
      try {
        decoded_ += kPerChunk;
        decoded_ += input_.reader().check_chunk(request, chunk);
      } catch (const std::exception&) {
        errors[static_cast<std::size_t>(i)] = std::current_exception();
      }
      if (done) done(static_cast<double>(chunk + 1) / static_cast<double>(input_.info().nchunks));
    }
  };
  {
    std::vector<std::jthread> others;
    const auto wanted = std::min<std::size_t>(threads_, errors.size());
    for (std::size_t i = 1; i < wanted; i++) others.emplace_back([&] { check_some({}); });
    check_some(done_);
  }
  for (std::int64_t i = 0; i < count; i++)
    if (const auto& error = errors[static_cast<std::size_t>(i)])
      report(fmt::format("chunk {}", first + i * step), error, first + i * step);
}

/// Decodes only the first and the last chunk of a range of equal chunks.
void Verifier::check_alike(std::int64_t first, std::int64_t end) {
  if (first == end) return;
  fs::Request request;
  try {
    input_.reader().check_chunk(request, first);
    if (end - first > 1) input_.reader().check_chunk(request, end - 1);
  } catch (const std::exception&) {
    report(end - first == 1 ? fmt::format("chunk {}", first)
                            : fmt::format("chunks {} to {}", first, end - 1),
           std::current_exception());
  }
}

void Verifier::check_metalayers() {
  fs::Request request;
  const frame::Snapshot& snapshot = input_.snapshot();
  for (const auto& entry : snapshot.vlmetalayers()) {
    if (is_at_limit()) return;
    try {
      const std::int64_t size =
          std::min(snapshot.vlmetalayer_size(entry), static_cast<std::int64_t>(kMaxMetalayer));
      const RunLimits::Loan loan(request, input_.limits(), kMetalayerCopies * size);
      decoded_ += kPerChunk + size;
      snapshot.read_vlmetalayer(entry, kMaxMetalayer, fs::thread_decoder());
    } catch (const std::exception&) {
      report("vlmetalayer " + entry.name, std::current_exception());
    }
  }
}

/// Reports a frame whose chunks are sound but do not hold its contents, so that a mount shows none.
void Verifier::check_contents() {
  fs::Request request;
  try {
    if (const auto missing = fs::missing_contents(request, input_.reader()))
      report_({"contents", Health::no_contents, *missing});
  } catch (const std::exception&) {
    report("contents", std::current_exception());
  }
}

void Verifier::report(const std::string& part, const std::exception_ptr& error,
                      std::int64_t chunk) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    report(part, health_of(known), reason(known, name_), chunk);
  }
}

void Verifier::report(const std::string& part, Health health, std::string text,
                      std::int64_t chunk) {
  if (text.starts_with(part + ": ")) text.erase(0, part.size() + 2);
  if (health == Health::unsupported) {
    if (text == reported_unsupported_) return;
    reported_unsupported_ = text;
  }
  report_({part, health, std::move(text), chunk});
}

}  // namespace bloscfs::tools
