// usage: eviction_bench
// Counts the misses of read traces in a cache of 64 MiB. Varies each eviction rule: halved, doubled
// and off. The counts are the same on every machine. Then measures the cost of fresh memory.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include "fs/support/page_pool.hpp"
#include "fs/view/block_cache.hpp"
#include "tests/fs/view/simulated_cache.hpp"

namespace {

using bloscfs::fs::EvictionRules;
using bloscfs::fs::Purpose;
using bloscfs::test::SimulatedCache;

constexpr std::size_t kCapacity = std::size_t{64} << 20;
constexpr std::size_t kBlock = 256 << 10;
constexpr std::size_t kFits = kCapacity / kBlock;
constexpr std::size_t kUnlimited = std::size_t{1} << 40;

using Trace = std::function<void(SimulatedCache&)>;
using Random = std::mt19937;

/// Draws numbers below `count`, the first of which are by far the most frequent.
class Zipf {
 public:
  explicit Zipf(std::size_t count) {
    double sum = 0;
    for (std::size_t i = 0; i < count; i++) sums_.push_back(sum += 1 / static_cast<double>(i + 1));
  }
  std::size_t operator()(Random& random) const {
    const double at = std::uniform_real_distribution<double>(0, sums_.back())(random);
    return static_cast<std::size_t>(std::lower_bound(sums_.begin(), sums_.end(), at) -
                                    sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

/// Blocks of four times the cache size. Some of them are read far more often than others.
void popular(SimulatedCache& cache, Purpose purpose) {
  Random random(1);
  const Zipf draw(4 * kFits);
  for (int i = 0; i < 100'000; i++) cache.read(draw(random), kBlock, purpose);
}

/// A working set of half the cache, while other files are read once.
void scans(SimulatedCache& cache) {
  Random random(2);
  std::size_t scanned = 1 << 20;
  for (int i = 0; i < 100'000; i++) {
    cache.read(random() % (kFits / 2), kBlock);
    for (int step = 0; step < 3; step++) cache.read(scanned++, kBlock);
  }
}

/// Like scans(), but twenty readers read each block of their own files in sixteen steps.
void scans_in_steps(SimulatedCache& cache) {
  Random random(3);
  constexpr std::size_t kReaders = 20, kSteps = 16;
  for (std::size_t step = 0; step < 2000 * kSteps; step++)
    for (std::size_t reader = 0; reader < kReaders; reader++) {
      cache.read(((reader + 1) << 20) + (step + reader) / kSteps, kBlock);
      if (step % kSteps < 4) cache.read(random() % (kFits / 2), kBlock);
    }
}

/// Reads all of a file that is a fifth larger than the cache, repeatedly.
void loop(SimulatedCache& cache) {
  for (int round = 0; round < 50; round++)
    for (std::size_t block = 0; block < kFits * 6 / 5; block++) cache.read(block, kBlock);
}

/// A working set that changes from time to time.
void shifts(SimulatedCache& cache) {
  Random random(4);
  for (std::size_t phase = 0; phase < 50; phase++)
    for (int i = 0; i < 2000; i++) cache.read(phase * kFits / 4 + random() % (kFits / 2), kBlock);
}

/// Small reads at random places, in addition to a working set of half the cache.
void small_reads(SimulatedCache& cache) {
  Random random(5);
  for (int i = 0; i < 50'000; i++) {
    cache.read(random() % (kFits / 2), kBlock);
    cache.read((1 << 20) + random() % (64 * kFits), kBlock, Purpose::small_read);
  }
}

/// Small reads of one block after another, by four threads at different blocks.
void small_steps(SimulatedCache& cache) {
  for (std::size_t block = 0; block < 20'000; block++)
    for (std::size_t reader = 0; reader < 4; reader++)
      if (block >= 2 * reader)
        for (int step = 0; step < 4; step++)
          cache.read(block - 2 * reader, kBlock, Purpose::small_read);
}

/// Files that the kernel caches, in addition to a working set of half the cache that it does not
/// cache.
void given(SimulatedCache& cache) {
  Random random(6);
  std::size_t scanned = 1 << 20;
  for (int i = 0; i < 50'000; i++) {
    cache.read(random() % (kFits / 2), kBlock);
    cache.read(scanned, kBlock);
    cache.give_to_kernel(scanned++);
  }
}

/// The kernel caches a file, while eight readers read each block up to four blocks late.
void given_to_many(SimulatedCache& cache) {
  Random random(7);
  for (std::size_t block = 0; block < 20'000; block++)
    for (std::size_t reader = 0; reader < 8; reader++) {
      const std::size_t late = random() % 5;
      if (block < late) continue;
      cache.read(block - late, kBlock);
      cache.give_to_kernel(block - late);
    }
}

const std::vector<std::pair<std::string, Trace>> kTraces = {
    {"popular", [](SimulatedCache& cache) { popular(cache, Purpose::read); }},
    {"popular, small", [](SimulatedCache& cache) { popular(cache, Purpose::small_read); }},
    {"scans", scans},
    {"scans in steps", scans_in_steps},
    {"loop", loop},
    {"shifts", shifts},
    {"small reads", small_reads},
    {"small steps", small_steps},
    {"given", given},
    {"given to many", given_to_many}};

void print_row(const std::string& name, const EvictionRules& rules) {
  std::printf("%-26s", name.c_str());
  for (const auto& [title, trace] : kTraces) {
    SimulatedCache cache(kCapacity, rules);
    trace(cache);
    std::printf("%16llu", static_cast<unsigned long long>(cache.misses()));
  }
  std::printf("\n");
}

template <typename Value>
void print_rule(const char* name, Value EvictionRules::*rule, Value off) {
  const EvictionRules rules(kCapacity);
  for (const auto& [how, value] : {std::pair{"halved", static_cast<Value>(rules.*rule / 2)},
                                   {"doubled", static_cast<Value>(rules.*rule * 2)},
                                   {"off", off}}) {
    EvictionRules changed = rules;
    changed.*rule = value;
    print_row(std::string(name) + " " + how, changed);
  }
}

void print_misses() {
  std::printf("%-26s", "misses");
  for (const auto& [title, trace] : kTraces) std::printf("%16s", title.c_str());
  std::printf("\n");
  print_row("as it is", EvictionRules(kCapacity));
  print_rule<std::size_t>("fresh_divisor", &EvictionRules::fresh_divisor, 1);
  print_rule<std::size_t>("short_queue", &EvictionRules::short_queue, kUnlimited);
  print_rule<std::size_t>("use_interval", &EvictionRules::use_interval, 0);
  print_rule<std::uint8_t>("most_uses", &EvictionRules::most_uses, 15);
  print_rule<std::size_t>("ghosts", &EvictionRules::ghosts, 0);
}

struct Bytes {
  Bytes(bloscfs::fs::PagePool& pages, std::size_t size) : bytes(pages, size) {
    std::memset(bytes.span().data(), 1, size);
  }
  std::size_t memory() const { return bytes.size(); }
  bloscfs::fs::PooledBytes bytes;
};

long page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/// Fills values that are used only once. Shows what a short queue saves.
void print_filling(const char* name, std::size_t short_queue) {
  bloscfs::fs::Stats stats;
  EvictionRules rules(std::size_t{256} << 20);
  rules.short_queue = short_queue;
  bloscfs::fs::PagePool pages;
  bloscfs::fs::BlockCache cache(std::size_t{256} << 20, pages, stats, rules);
  constexpr int kValues = 900;
  bloscfs::fs::Request request;
  const long faults = page_faults();
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < kValues; i++)
    cache.get<Bytes>(
        request, {1, i, 0, bloscfs::fs::CacheKind::block}, 0,
        [&] { return std::make_shared<Bytes>(pages, kBlock); }, Purpose::small_read);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  std::printf("%-26s%8.1f µs a block of 256 KiB, %6.1f page faults\n", name, took.count() / kValues,
              static_cast<double>(page_faults() - faults) / kValues);
}

}  // namespace

int main() {
  print_misses();
  for (const std::size_t mib : std::initializer_list<std::size_t>{1, 2, 4, 8, 16, 256})
    print_filling(("a short queue of " + std::to_string(mib) + " MiB").c_str(), mib << 20);
}
