#include "fs/spare_memory.hpp"

#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "fs/sync.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::size_t kPage = 4096;
#ifdef BLOSCFS_PLAIN_MEMORY
/// AddressSanitizer is to see the bounds and the end of every piece.
constexpr std::size_t kLeastKept = SIZE_MAX;
#else
/// The allocator itself keeps smaller pieces.
constexpr std::size_t kLeastKept = 32 << 10;
#endif
constexpr std::size_t kMostKept = std::size_t{16} << 20;
/// Smaller pieces are cut out of slabs, for each of which the kernel maps one huge page.
constexpr std::size_t kSlab = std::size_t{2} << 20;
constexpr std::size_t kMostCut = kSlab / 4;

std::uint8_t* map_slab() {
  void* const slab = ::mmap(nullptr, 2 * kSlab, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slab == MAP_FAILED) throw std::bad_alloc();
  auto* const start = static_cast<std::uint8_t*>(slab);
  const std::size_t before = (kSlab - reinterpret_cast<std::uintptr_t>(start) % kSlab) % kSlab;
  if (before > 0) ::munmap(start, before);
  ::munmap(start + before + kSlab, kSlab - before);
  ::madvise(start + before, kSlab, MADV_HUGEPAGE);
  return start + before;
}

std::uint8_t* allocate_large(std::size_t size) {
  auto* const piece = static_cast<std::uint8_t*>(::operator new(size, std::align_val_t(kPage)));
  ::madvise(piece, size, MADV_POPULATE_WRITE);  // all page faults in one go
  return piece;
}

void free_large(std::uint8_t* piece) { ::operator delete(piece, std::align_val_t(kPage)); }

/// Pieces of one size that nobody uses.
struct Pieces {
  std::vector<std::uint8_t*> kept;
  std::vector<std::uint8_t*> empty;  ///< of slabs, whose memory went back to the system
};

/// Thread-safe.
class SpareMemory {
 public:
  std::uint8_t* take(std::size_t size) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Pieces& pieces = pieces_[size];
    if (!pieces.kept.empty()) {
      kept_ -= size;
      return pop(pieces.kept);
    }
    if (size > kMostCut) return allocate_large(size);
    if (!pieces.empty.empty()) return pop(pieces.empty);
    if (slab_left_ < size) {
      slab_ = map_slab();
      slab_left_ = kSlab;
    }
    slab_left_ -= size;
    return std::exchange(slab_, slab_ + size);
  }

  void give(std::uint8_t* piece, std::size_t size) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    // Of sizes that nobody wants any more nothing stays for long.
    while (kept_ + size > kMostKept)
      if (!drop_one_of_another(size)) return drop(pieces_[size], piece, size);
    pieces_[size].kept.push_back(piece);
    kept_ += size;
  }

  void trim() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (drop_one_of_another(0)) {
    }
  }

 private:
  static std::uint8_t* pop(std::vector<std::uint8_t*>& pieces) {
    std::uint8_t* const piece = pieces.back();
    pieces.pop_back();
    return piece;
  }

  static void drop(Pieces& pieces, std::uint8_t* piece, std::size_t size) {
    if (size > kMostCut) return free_large(piece);
    ::madvise(piece, size, MADV_DONTNEED);
    pieces.empty.push_back(piece);
  }

  bool drop_one_of_another(std::size_t size) REQUIRES(mutex_) {
    for (auto& [other, pieces] : pieces_) {
      if (other == size || pieces.kept.empty()) continue;
      drop(pieces, pop(pieces.kept), other);
      kept_ -= other;
      return true;
    }
    return false;
  }

  Mutex mutex_;
  std::unordered_map<std::size_t, Pieces> pieces_ GUARDED_BY(mutex_);
  std::size_t kept_ GUARDED_BY(mutex_) = 0;
  std::uint8_t* slab_ GUARDED_BY(mutex_) = nullptr;  ///< what is not cut yet
  std::size_t slab_left_ GUARDED_BY(mutex_) = 0;
};

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
  return size < kLeastKept ? static_cast<std::uint8_t*>(::operator new(size))
                           : spare_memory().take(size);
}

void give_memory(std::uint8_t* piece, std::size_t size) noexcept {
  if (size < kLeastKept) return ::operator delete(piece);
  try {
    spare_memory().give(piece, size);
  } catch (const std::bad_alloc&) {
    // Without room in the lists nobody has it again.
  }
}

void trim_spare_memory() { spare_memory().trim(); }

}  // namespace bloscfs::fs
