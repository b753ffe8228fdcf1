#include "fs/support/page_pool.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "fs/support/sync.hpp"

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
/// For larger ones the page faults are little beside what is done in them.
constexpr std::size_t kLargestKept = std::size_t{1} << 20;
constexpr std::size_t kMostKept = std::size_t{20} << 20;
/// Pieces that fill it are cut out of a slab, which is one huge page where that can be had.
constexpr std::size_t kSlab = std::size_t{2} << 20;

std::uint8_t* map_slab() {
  void* const slab = ::mmap(nullptr, 2 * kSlab, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slab == MAP_FAILED) throw std::bad_alloc();
  auto* const start = static_cast<std::uint8_t*>(slab);
  const std::size_t before = (kSlab - reinterpret_cast<std::uintptr_t>(start) % kSlab) % kSlab;
  if (before > 0) ::munmap(start, before);
  ::munmap(start + before + kSlab, kSlab - before);
  return start + before;
}

/// Takes all page faults in one go, where the kernel can do that (from Linux 5.14 on).
void populate(std::uint8_t* piece, std::size_t size) {
  ::madvise(piece, size, MADV_POPULATE_WRITE);
}

std::uint8_t* allocate_odd(std::size_t size) {
  auto* const piece = static_cast<std::uint8_t*>(::operator new(size, std::align_val_t(kPage)));
  populate(piece, size);
  return piece;
}

void free_odd(std::uint8_t* piece) { ::operator delete(piece, std::align_val_t(kPage)); }

bool is_kept(std::size_t size) { return size >= kLeastKept && size <= kLargestKept; }
bool is_cut(std::size_t size) { return std::has_single_bit(size); }

/// Gives the memory of a slab's piece back. The kernel must not make a huge page of the rest again.
void empty_piece(std::uint8_t* piece, std::size_t size) {
  std::uint8_t* const slab = piece - reinterpret_cast<std::uintptr_t>(piece) % kSlab;
  ::madvise(slab, kSlab, MADV_NOHUGEPAGE);
  ::madvise(piece, size, MADV_DONTNEED);
}

/// Pieces of one size that nobody uses.
struct Pieces {
  std::vector<std::uint8_t*> kept;
  std::vector<std::uint8_t*> empty;  ///< of slabs, without memory
  std::uint8_t* slab = nullptr;      ///< what is not cut yet
  std::size_t slab_left = 0;
  bool slab_has_memory = false;
};

/// Thread-safe.
class PagePool {
 public:
  std::uint8_t* take(std::size_t size) EXCLUDES(mutex_) {
    const Found found = find(size);
    // Not under the lock, since the kernel takes its time.
    if (found.piece == nullptr) return allocate_odd(size);
    if (!found.has_memory) populate(found.piece, size);
    return found.piece;
  }

  /// Has a slab ready for the next one who needs one, in a huge page, if somebody needed one since.
  void prepare() EXCLUDES(mutex_) {
    if (!wants_slab_.exchange(false)) return;
    std::uint8_t* const slab = map_slab();
    ::madvise(slab, kSlab, MADV_HUGEPAGE);
    populate(slab, kSlab);
    const MutexLock lock(mutex_);
    if (std::uint8_t* const other = std::exchange(ready_slab_, slab)) ::munmap(other, kSlab);
  }

  void give(std::uint8_t* piece, std::size_t size) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    pieces_[size].kept.push_back(piece);
    kept_ += size;
    // The size that fills the room gives way, so that some of each size that is in use stays.
    while (kept_ > kMostKept)
      drop_one(*std::max_element(pieces_.begin(), pieces_.end(), keeps_less));
  }

  void trim() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    for (auto& entry : pieces_)
      while (!entry.second.kept.empty()) drop_one(entry);
    if (std::uint8_t* const slab = std::exchange(ready_slab_, nullptr)) ::munmap(slab, kSlab);
  }

 private:
  struct Found {
    std::uint8_t* piece = nullptr;  ///< null where it is to be allocated
    bool has_memory = true;
  };

  Found find(std::size_t size) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Pieces& pieces = pieces_[size];
    if (!pieces.kept.empty()) {
      kept_ -= size;
      return {pop(pieces.kept)};
    }
    if (!is_cut(size)) return {};
    if (!pieces.empty.empty()) return {pop(pieces.empty), false};
    if (pieces.slab_left == 0) begin_slab(pieces);
    pieces.slab_left -= size;
    return {std::exchange(pieces.slab, pieces.slab + size), pieces.slab_has_memory};
  }

  static std::uint8_t* pop(std::vector<std::uint8_t*>& pieces) {
    std::uint8_t* const piece = pieces.back();
    pieces.pop_back();
    return piece;
  }

  using Entry = std::pair<const std::size_t, Pieces>;
  static bool keeps_less(const Entry& one, const Entry& other) {
    return one.first * one.second.kept.size() < other.first * other.second.kept.size();
  }

  void drop_one(Entry& entry) REQUIRES(mutex_) {
    auto& [size, pieces] = entry;
    std::uint8_t* const piece = pop(pieces.kept);
    kept_ -= size;
    if (!is_cut(size)) return free_odd(piece);
    empty_piece(piece, size);
    pieces.empty.push_back(piece);
  }

  void begin_slab(Pieces& pieces) REQUIRES(mutex_) {
    pieces.slab_has_memory = ready_slab_ != nullptr;
    pieces.slab = ready_slab_ != nullptr ? std::exchange(ready_slab_, nullptr) : map_slab();
    pieces.slab_left = kSlab;
    wants_slab_ = true;
  }

  Mutex mutex_;
  std::unordered_map<std::size_t, Pieces> pieces_ GUARDED_BY(mutex_);
  std::size_t kept_ GUARDED_BY(mutex_) = 0;
  std::uint8_t* ready_slab_ GUARDED_BY(mutex_) = nullptr;
  std::atomic<bool> wants_slab_{false};
};

PagePool& page_pool() {
  // Never destroyed: contents that end with the process give their memory back late.
  static PagePool& pool = *new PagePool;
  return pool;
}

}  // namespace

std::size_t pooled_size(std::size_t size) {
  return size < kLeastKept ? size : (size + kPage - 1) / kPage * kPage;
}

std::uint8_t* take_memory(std::size_t size) {
  return is_kept(size) ? page_pool().take(size) : static_cast<std::uint8_t*>(::operator new(size));
}

void give_memory(std::uint8_t* piece, std::size_t size) noexcept {
  if (!is_kept(size)) return ::operator delete(piece);
  try {
    page_pool().give(piece, size);
  } catch (const std::bad_alloc&) {
    // Without room in the lists nobody has it again.
  }
}

void prepare_memory() noexcept {
  try {
    page_pool().prepare();
  } catch (const std::bad_alloc&) {
    // The slab was for later: whoever needs memory then will hear that there is none.
  }
}

void trim_page_pool() { page_pool().trim(); }

}  // namespace bloscfs::fs
