#include "fs/support/page_pool.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>

#include <sys/mman.h>

namespace bloscfs::fs {
namespace {

// What is said of time is the daemon's processor time, for a frame of floats in LZ4.

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
/// Pieces that fill it are cut out of a slab, which is one huge page where that can be had. From
/// small pages reading takes 9 % more time, writing 4 %; a daemon that reads has 13 % less memory.
constexpr std::size_t kSlab = std::size_t{2} << 20;

std::uint8_t* map_slab() {
  void* const mapped = ::mmap(nullptr, 2 * kSlab, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const start = static_cast<std::uint8_t*>(mapped);
  const std::size_t before = (kSlab - reinterpret_cast<std::uintptr_t>(start) % kSlab) % kSlab;
  if (before > 0) ::munmap(start, before);
  ::munmap(start + before + kSlab, kSlab - before);
  ::madvise(start + before, kSlab, MADV_HUGEPAGE);
  return start + before;
}

bool is_kept(std::size_t size) { return size >= kLeastKept && size <= kLargestKept; }
bool is_cut(std::size_t size) { return is_kept(size) && std::has_single_bit(size); }

/// A piece that is not cut out of a slab.
std::uint8_t* allocate(std::size_t size) {
  void* const piece =
      is_kept(size) ? ::operator new(size, std::align_val_t(kPage)) : ::operator new(size);
  return static_cast<std::uint8_t*>(piece);
}

void free_allocated(std::uint8_t* piece, std::size_t size) noexcept {
  if (is_kept(size))
    ::operator delete(piece, std::align_val_t(kPage));
  else
    ::operator delete(piece);
}

/// Gives the memory of a slab's piece back. The kernel must not make a huge page of the rest again.
void empty_cut(std::uint8_t* piece, std::size_t size) noexcept {
  std::uint8_t* const slab = piece - reinterpret_cast<std::uintptr_t>(piece) % kSlab;
  ::madvise(slab, kSlab, MADV_NOHUGEPAGE);
  ::madvise(piece, size, MADV_DONTNEED);
}

std::uint8_t* pop(std::vector<std::uint8_t*>& pieces) {
  std::uint8_t* const piece = pieces.back();
  pieces.pop_back();
  return piece;
}

}  // namespace

PagePool::~PagePool() {
  assert(taken_ == 0);
  const MutexLock lock(mutex_);
  for (const auto& [size, pieces] : sizes_)
    if (!is_cut(size))
      for (std::uint8_t* const piece : pieces.kept) free_allocated(piece, size);
  for (std::uint8_t* const slab : slabs_) ::munmap(slab, kSlab);
}

std::size_t PagePool::piece_size(std::size_t size) {
  return size < kLeastKept ? size : (size + kPage - 1) / kPage * kPage;
}

std::uint8_t* PagePool::take(std::size_t piece_size) {
  std::uint8_t* piece = is_kept(piece_size) ? find(piece_size) : nullptr;
  // Not under the lock, since the kernel takes its time.
  if (piece == nullptr) piece = allocate(piece_size);
  taken_++;
  return piece;
}

/// Null where it is to be allocated.
std::uint8_t* PagePool::find(std::size_t piece_size) {
  const MutexLock lock(mutex_);
  Pieces& pieces = sizes_[piece_size];
  if (!pieces.kept.empty()) {
    kept_ -= piece_size;
    return pop(pieces.kept);
  }
  return is_cut(piece_size) ? cut(pieces, piece_size) : nullptr;
}

std::uint8_t* PagePool::cut(Pieces& pieces, std::size_t piece_size) {
  if (!pieces.empty.empty()) return pop(pieces.empty);
  if (pieces.slab_left == 0) {
    slabs_.reserve(slabs_.size() + 1);
    pieces.slab = slabs_.emplace_back(map_slab());
    pieces.slab_left = kSlab;
  }
  pieces.slab_left -= piece_size;
  return pieces.slab + pieces.slab_left;
}

void PagePool::give(std::uint8_t* piece, std::size_t piece_size) noexcept {
  taken_--;
  if (!is_kept(piece_size)) return free_allocated(piece, piece_size);
  try {
    keep(piece, piece_size);
  } catch (const std::bad_alloc&) {
    // Without room in the lists nobody has it again.
  }
}

void PagePool::keep(std::uint8_t* piece, std::size_t piece_size) {
  const MutexLock lock(mutex_);
  sizes_[piece_size].kept.push_back(piece);
  kept_ += piece_size;
  const auto keeps_less = [](const auto& one, const auto& other) {
    return one.first * one.second.kept.size() < other.first * other.second.kept.size();
  };
  // The size that fills the room gives way, so that some of each size that is in use stays.
  while (kept_ > most_kept_) drop_one(*std::max_element(sizes_.begin(), sizes_.end(), keeps_less));
}

void PagePool::drop_one(Sizes::value_type& entry) {
  auto& [size, pieces] = entry;
  if (is_cut(size)) pieces.empty.push_back(pieces.kept.back());
  std::uint8_t* const piece = pop(pieces.kept);
  kept_ -= size;
  is_cut(size) ? empty_cut(piece, size) : free_allocated(piece, size);
}

void PagePool::trim() {
  const MutexLock lock(mutex_);
  for (auto& entry : sizes_)
    while (!entry.second.kept.empty()) drop_one(entry);
}

}  // namespace bloscfs::fs
