#include "fs/cell_memory.hpp"

#include <cstring>
#include <new>
#include <vector>

#include "fs/sync.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::size_t kKeptCells = 96;
/// A cell's bytes, or the stored bytes of a chunk of that size that cannot be compressed.
constexpr std::size_t kPiece = kCellSize + 4096;

/// Thread-safe.
class SpareCells {
 public:
  SpareCells() { cells_.reserve(kKeptCells); }

  void* take() EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (!cells_.empty()) {
        void* const cell = cells_.back();
        cells_.pop_back();
        return cell;
      }
    }
    return ::operator new(kPiece);
  }

  void give_back(void* cell) noexcept EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (cells_.size() < kKeptCells) {
        cells_.push_back(cell);
        return;
      }
    }
    ::operator delete(cell);
  }

  void trim() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    for (void* const cell : cells_) ::operator delete(cell);
    cells_.clear();
  }

 private:
  Mutex mutex_;
  std::vector<void*> cells_ GUARDED_BY(mutex_);
};

SpareCells& spare_cells() {
  // Never destroyed: contents that end with the process give their memory back late.
  static SpareCells& cells = *new SpareCells;
  return cells;
}

/// What is taken for `capacity`.
std::size_t taken_for(std::size_t capacity) {
  return capacity > kCellSize / 2 && capacity <= kPiece ? kPiece : capacity;
}

std::uint8_t* allocate(std::size_t size) {
  return static_cast<std::uint8_t*>(size == kPiece ? spare_cells().take() : ::operator new(size));
}

void release(std::uint8_t* data, std::size_t size) {
  if (size == kPiece)
    spare_cells().give_back(data);
  else
    ::operator delete(data);
}

}  // namespace

CellBytes::CellBytes(codec::Bytes bytes) : size_(bytes.size()), capacity_(taken_for(bytes.size())) {
  data_ = allocate(capacity_);
  if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
}

CellBytes::~CellBytes() {
  if (data_ != nullptr) release(data_, capacity_);
}

void CellBytes::reserve(std::size_t capacity) {
  if (capacity <= capacity_) return;
  capacity = taken_for(capacity);
  std::uint8_t* const grown = allocate(capacity);
  if (data_ != nullptr) {
    std::memcpy(grown, data_, size_);
    release(data_, capacity_);
  }
  data_ = grown;
  capacity_ = capacity;
}

void trim_cells() { spare_cells().trim(); }

}  // namespace bloscfs::fs
