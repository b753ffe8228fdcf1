// usage: read_bench ACTION ARGUMENTS...
// Reads in ways that cat and dd cannot. Prints one JSON object to stdout.
//
//   random FILE pread|direct|mmap SIZE READERS   one read in each 256 KiB of FILE, at most
//                                                kMostReads of them, in random order
//   stay FILE SECONDS                            reads of 4 KiB at random places of FILE by pread,
//                                                with the number of reads in each second
//   scan FILE                                    reads all of FILE through one mapping
//   copy BYTES                                   copies memory, for comparison

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

// Far enough apart that two reads never hit one block, except on filesystems with blocks of 1 MiB.
constexpr std::size_t kSlot = 256 << 10;
constexpr std::size_t kMostReads = 4000;
constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kSeed = 20240229;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

class File {
 public:
  File(const char* path, int flags) : descriptor_(::open(path, O_RDONLY | flags)) {
    if (descriptor_ < 0) fail(path);
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int descriptor() const { return descriptor_; }

  std::size_t size() const {
    struct stat st {};
    if (::fstat(descriptor_, &st) != 0) fail("fstat");
    return static_cast<std::size_t>(st.st_size);
  }

 private:
  int descriptor_;
};

class Mapping {
 public:
  explicit Mapping(const File& file)
      : size_(file.size()),
        bytes_(::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.descriptor(), 0)) {
    if (bytes_ == MAP_FAILED) fail("mmap");
  }
  ~Mapping() { ::munmap(bytes_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  const std::uint8_t* bytes() const { return static_cast<const std::uint8_t*>(bytes_); }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  void* bytes_;
};

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};

/// Returns memory that is aligned for direct reads.
std::unique_ptr<std::uint8_t, FreeDeleter> page_aligned(std::size_t size) {
  auto* const memory = static_cast<std::uint8_t*>(std::aligned_alloc(kPage, size));
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 1, size);
  return std::unique_ptr<std::uint8_t, FreeDeleter>(memory);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<std::size_t> random_offsets(std::size_t file_size, std::size_t read_size) {
  if (read_size > kSlot || file_size < kSlot) throw std::runtime_error("file too small");
  std::mt19937_64 random(kSeed);
  std::vector<std::size_t> offsets;
  for (std::size_t slot = 0; slot + kSlot <= file_size; slot += kSlot)
    offsets.push_back(slot + random() % ((kSlot - read_size) / kPage + 1) * kPage);
  std::shuffle(offsets.begin(), offsets.end(), random);
  offsets.resize(std::min(offsets.size(), kMostReads));
  return offsets;
}

/// Does the reads of one of several readers. Returns the latencies in microseconds.
std::vector<double> read_each(const char* path, const std::string& how, std::size_t size,
                              const std::vector<std::size_t>& offsets) {
  const File file(path, how == "direct" ? O_DIRECT : 0);
  const std::unique_ptr<Mapping> mapping =
      how == "mmap" ? std::make_unique<Mapping>(file) : nullptr;
  const auto out = page_aligned(size);
  std::vector<double> latencies;
  latencies.reserve(offsets.size());
  for (const std::size_t offset : offsets) {
    const auto begin = Clock::now();
    if (mapping) {
      std::memcpy(out.get(), mapping->bytes() + offset, size);
    } else if (::pread(file.descriptor(), out.get(), size, static_cast<off_t>(offset)) !=
               static_cast<ssize_t>(size)) {
      fail("pread");
    }
    latencies.push_back(1e6 * seconds_since(begin));
  }
  return latencies;
}

double percentile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

void read_randomly(const char* path, const std::string& how, std::size_t size,
                   std::size_t readers) {
  const std::vector<std::size_t> offsets = random_offsets(File(path, 0).size(), size);
  std::vector<std::vector<double>> latencies(readers);
  std::vector<std::exception_ptr> failures(readers);
  std::vector<std::thread> threads;
  const auto begin = Clock::now();
  for (std::size_t reader = 0; reader < readers; reader++)
    threads.emplace_back([&, reader] {
      std::vector<std::size_t> own;
      for (std::size_t i = reader; i < offsets.size(); i += readers) own.push_back(offsets[i]);
      try {
        latencies[reader] = read_each(path, how, size, own);
      } catch (...) {
        failures[reader] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  const double seconds = seconds_since(begin);
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  std::vector<double> all;
  for (const std::vector<double>& some : latencies) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  std::printf("{\"seconds\": %.6f, \"reads\": %zu, \"p50\": %.2f, \"p99\": %.2f, \"p999\": %.2f}\n",
              seconds, all.size(), percentile(all, 0.5), percentile(all, 0.99),
              percentile(all, 0.999));
}

/// Prints as "rates" how many reads each second had.
void stay(const char* path, std::size_t seconds) {
  const File file(path, 0);
  const std::size_t pages = file.size() / kPage;
  if (pages == 0) throw std::runtime_error("file too small");
  const auto out = page_aligned(kPage);
  std::mt19937_64 random(kSeed);
  std::printf("{\"rates\": [");
  auto begin = Clock::now();
  for (std::size_t second = 0; second < seconds; second++) {
    std::size_t reads = 0;
    double took = 0;
    for (; took < 1; reads++) {
      const auto offset = static_cast<off_t>(random() % pages * kPage);
      if (::pread(file.descriptor(), out.get(), kPage, offset) != static_cast<ssize_t>(kPage))
        fail("pread");
      took = seconds_since(begin);
    }
    begin = Clock::now();
    std::printf("%s%.0f", second == 0 ? "" : ", ", static_cast<double>(reads) / took);
  }
  std::printf("]}\n");
}

void report(Clock::time_point begin, std::size_t bytes, std::uint64_t sum) {
  // Print the sum, so that the compiler cannot drop the reads.
  std::printf("{\"seconds\": %.6f, \"nbytes\": %zu, \"sum\": %llu}\n", seconds_since(begin), bytes,
              static_cast<unsigned long long>(sum));
}

void scan(const char* path) {
  const File file(path, 0);
  const Mapping mapping(file);
  const auto begin = Clock::now();
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + sizeof sum <= mapping.size(); at += sizeof sum) {
    std::uint64_t word = 0;
    std::memcpy(&word, mapping.bytes() + at, sizeof word);
    sum += word;
  }
  report(begin, mapping.size(), sum);
}

void copy(std::size_t bytes) {
  const auto from = page_aligned(bytes), to = page_aligned(bytes);
  const auto begin = Clock::now();
  std::memcpy(to.get(), from.get(), bytes);
  report(begin, bytes, to.get()[bytes / 2]);
}

bool work(int argc, char** argv) {
  const std::string action = argc > 2 ? argv[1] : "";
  if (action == "random" && argc == 6) {
    read_randomly(argv[2], argv[3], std::strtoull(argv[4], nullptr, 10),
                  std::strtoull(argv[5], nullptr, 10));
  } else if (action == "stay" && argc == 4) {
    stay(argv[2], std::strtoull(argv[3], nullptr, 10));
  } else if (action == "scan" && argc == 3) {
    scan(argv[2]);
  } else if (action == "copy" && argc == 3) {
    copy(std::strtoull(argv[2], nullptr, 10));
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return work(argc, argv) ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "read_bench: %s\n", error.what());
    return 1;
  }
}
