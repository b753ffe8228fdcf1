#include "fs/spare_memory.hpp"

#include <new>
#include <unordered_map>
#include <vector>

#include <sys/mman.h>

#include "fs/sync.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::size_t kPage = 4096;
/// The allocator itself keeps smaller pieces.
constexpr std::size_t kLeastKept = 32 << 10;
constexpr std::size_t kMostKept = std::size_t{16} << 20;

/// Thread-safe.
class SpareMemory {
 public:
  std::uint8_t* take(std::size_t size) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto found = pieces_.find(size);
    if (found == pieces_.end() || found->second.empty()) return nullptr;
    std::uint8_t* const piece = found->second.back();
    found->second.pop_back();
    kept_ -= size;
    return piece;
  }

  /// False if there is no room for it.
  bool keep(std::uint8_t* piece, std::size_t size) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    // Of sizes that nobody wants any more nothing stays for long.
    while (kept_ + size > kMostKept)
      if (!drop_one_of_another(size)) return false;
    pieces_[size].push_back(piece);
    kept_ += size;
    return true;
  }

  void trim() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (drop_one_of_another(0)) {
    }
  }

 private:
  bool drop_one_of_another(std::size_t size) REQUIRES(mutex_) {
    for (auto list = pieces_.begin(); list != pieces_.end();) {
      if (list->first == size) {
        ++list;
      } else if (list->second.empty()) {
        list = pieces_.erase(list);
      } else {
        ::operator delete(list->second.back());
        list->second.pop_back();
        kept_ -= list->first;
        return true;
      }
    }
    return false;
  }

  Mutex mutex_;
  std::unordered_map<std::size_t, std::vector<std::uint8_t*>> pieces_ GUARDED_BY(mutex_);
  std::size_t kept_ GUARDED_BY(mutex_) = 0;
};

/// Has the kernel map all of it in one go, where it can do that (from Linux 5.14 on).
void populate(std::uint8_t* piece, std::size_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(piece);
  const std::uintptr_t begin = (address + kPage - 1) / kPage * kPage;
  const std::uintptr_t end = (address + size) / kPage * kPage;
  if (end > begin) ::madvise(piece + (begin - address), end - begin, MADV_POPULATE_WRITE);
}

SpareMemory& spare_memory() {
  // Never destroyed: contents that end with the process give their memory back late.
  static SpareMemory& memory = *new SpareMemory;
  return memory;
}

}  // namespace

std::size_t spare_size(std::size_t size) {
  return size < kLeastKept ? size : (size + kPage - 1) / kPage * kPage;
}

std::uint8_t* take_memory(std::size_t size) {
  if (size < kLeastKept) return static_cast<std::uint8_t*>(::operator new(size));
  if (std::uint8_t* const kept = spare_memory().take(size)) return kept;
  auto* const piece = static_cast<std::uint8_t*>(::operator new(size));
  populate(piece, size);
  return piece;
}

void give_memory(std::uint8_t* piece, std::size_t size) noexcept {
  try {
    if (size >= kLeastKept && spare_memory().keep(piece, size)) return;
  } catch (const std::bad_alloc&) {
    // Then nobody has it again.
  }
  ::operator delete(piece);
}

void trim_spare_memory() { spare_memory().trim(); }

}  // namespace bloscfs::fs
