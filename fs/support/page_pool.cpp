#include "fs/support/page_pool.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>

#include <sys/mman.h>

namespace bloscfs::fs {
namespace {

// Times below are processor time of the daemon, measured with a frame of floats in LZ4.

constexpr std::size_t kPage = 4096;
#ifdef BLOSCFS_PLAIN_MEMORY
/// Keeps nothing, so that AddressSanitizer sees the bounds and the end of every piece.
constexpr std::size_t kLeastKept = SIZE_MAX;
#else
/// The allocator serves smaller pieces, and keeps them for reuse. If it served larger ones, they
/// would leave gaps in its heap that no other size fits. With blocks of several sizes, a daemon
/// then had 28 MiB more than it used.
constexpr std::size_t kLeastKept = 8 << 10;
#endif
/// For larger pieces the page faults cost little compared with the work on the data.
constexpr std::size_t kLargestKept = std::size_t{1} << 20;
/// Pieces are cut from slabs, and each slab serves one size. From the second slab of a size on, the
/// pool asks for a huge page. With small pages, reading takes 9 % more time and writing 4 %. The
/// first slab uses small pages, since many sizes may need only a few pieces each.
constexpr std::size_t kSlab = std::size_t{2} << 20;

/// Maps a slab that begins at a multiple of kSlab: maps twice its size, and unmaps the parts before
/// and behind it.
std::uint8_t* map_slab(bool is_huge) {
  void* const mapped = ::mmap(nullptr, 2 * kSlab, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const start = static_cast<std::uint8_t*>(mapped);
  const std::size_t before = (kSlab - reinterpret_cast<std::uintptr_t>(start) % kSlab) % kSlab;
  if (before > 0) ::munmap(start, before);
  ::munmap(start + before + kSlab, kSlab - before);
  ::madvise(start + before, kSlab, is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return start + before;
}

bool is_kept(std::size_t size) { return size >= kLeastKept && size <= kLargestKept; }
/// Returns the memory of one piece to the system. MADV_NOHUGEPAGE keeps the kernel from merging the
/// slab into a huge page again.
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
  for (std::uint8_t* const slab : slabs_) ::munmap(slab, kSlab);
}

/// Uses eight sizes for each power of two, so that there are few sizes.
std::size_t PagePool::piece_size(std::size_t size) {
  if (!is_kept(size)) return size;
  const std::size_t step = std::max(kPage, std::bit_floor(size - 1) / 8);
  return (size + step - 1) / step * step;
}

std::uint8_t* PagePool::take(std::size_t piece_size) {
  std::uint8_t* const piece = is_kept(piece_size)
                                  ? find(piece_size)
                                  : static_cast<std::uint8_t*>(::operator new(piece_size));
  taken_++;
  return piece;
}

std::uint8_t* PagePool::find(std::size_t piece_size) {
  const MutexLock lock(mutex_);
  Pieces& pieces = sizes_[piece_size];
  if (!pieces.kept.empty()) {
    kept_ -= piece_size;
    return pop(pieces.kept);
  }
  return cut(pieces, piece_size);
}

std::uint8_t* PagePool::cut(Pieces& pieces, std::size_t piece_size) {
  if (!pieces.empty.empty()) return pop(pieces.empty);
  if (pieces.slab_left < piece_size) {
    slabs_.reserve(slabs_.size() + 1);
    // A huge page takes memory as a whole, including the rest of the slab that is too short for a
    // piece. So the pool asks for one only if that rest is at most 1/16.
    const bool fills_it = kSlab % piece_size <= kSlab / 16;
    pieces.slab = slabs_.emplace_back(map_slab(pieces.slab != nullptr && fills_it));
    pieces.slab_left = kSlab;
  }
  pieces.slab_left -= piece_size;
  return pieces.slab + pieces.slab_left;
}

void PagePool::give(std::uint8_t* piece, std::size_t piece_size) noexcept {
  taken_--;
  if (!is_kept(piece_size)) return ::operator delete(piece);
  try {
    keep(piece, piece_size);
  } catch (const std::bad_alloc&) {
    // The lists cannot grow. The piece stays unused until the pool is destroyed.
  }
}

void PagePool::keep(std::uint8_t* piece, std::size_t piece_size) {
  const MutexLock lock(mutex_);
  sizes_[piece_size].kept.push_back(piece);
  kept_ += piece_size;
  const auto keeps_less = [](const auto& one, const auto& other) {
    return one.first * one.second.kept.size() < other.first * other.second.kept.size();
  };
  // The size with the most kept bytes gives way, so that some pieces of each size in use stay.
  while (kept_ > most_kept_) drop_one(*std::max_element(sizes_.begin(), sizes_.end(), keeps_less));
}

void PagePool::drop_one(Sizes::value_type& entry) {
  auto& [size, pieces] = entry;
  pieces.empty.push_back(pieces.kept.back());
  kept_ -= size;
  empty_cut(pop(pieces.kept), size);
}

void PagePool::trim() {
  const MutexLock lock(mutex_);
  for (auto& entry : sizes_)
    while (!entry.second.kept.empty()) drop_one(entry);
}

}  // namespace bloscfs::fs
