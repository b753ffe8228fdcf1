#pragma once
// The uncommitted changes of one file: its size, written bytes and metalayers.

#include <cstdint>
#include <optional>
#include <span>

#include "codec/bytes.hpp"
#include "fs/content/layer.hpp"

namespace bloscfs::fs {

/// A value: the size of a file, and the changes that no commit has stored. New changes go to the
/// live layer. A commit freezes that layer and stores it; a new live layer lies over the frozen one
/// until the commit ends. Below both is the committed file. Not thread-safe.
class Written {
 public:
  explicit Written(PagePool& pages) : live_(pages) {}

  std::int64_t size() const { return size_; }
  /// Size of the committed file, in bytes.
  std::int64_t committed_size() const { return committed_; }
  const Layer& live() const { return live_; }
  /// Null while no commit is under way.
  const Layer* frozen() const { return frozen_ ? &*frozen_ : nullptr; }
  /// True if nothing is uncommitted.
  bool is_clean() const { return !frozen_ && live_.empty() && size_ == committed_; }
  /// True if the live layer changes bytes, or the size is not the committed one.
  bool changes_contents() const { return live_.has_contents() || size_ != committed_; }

  // --- reading

  /// Offset from which on no committed byte is visible.
  std::int64_t lower_end() const;
  /// True if no byte of the range is changed.
  bool is_untouched(std::int64_t offset, std::int64_t size) const;
  /// Overwrites the changed bytes in `out`, which holds the file's committed bytes from `offset`
  /// on.
  void apply(std::int64_t offset, codec::MutableBytes out) const;
  /// An upper bound of the file's bytes that are data; all committed bytes count.
  std::int64_t data_size() const;
  /// Number of bytes written to both layers. Bytes that were written again while a commit stores
  /// them count twice.
  std::int64_t written_size() const;
  LayerChanges metalayers() const;
  /// Memory of the metalayers of both layers, in bytes.
  std::size_t metalayers_memory() const { return metalayers_memory_; }

  // --- changes of the live layer

  void write(std::int64_t offset, codec::Bytes bytes);
  /// Writes the cells one after the other. May take over their memory and leave them empty.
  void write(std::int64_t offset, std::span<PooledBuffer> cells);
  /// Added bytes read as zeros.
  void resize(std::int64_t size);
  /// Makes a range of the file read as zeros.
  void zero(std::int64_t offset, std::int64_t size) { live_.bytes.zero(offset, size); }
  void set_metalayer(const LayerName& name, LayerChange value);
  /// Discards written bytes and truncations. The size stays.
  void drop_contents();
  void drop_metalayers();

  // --- commits

  void freeze_all() { frozen_.emplace(live_.take_all()); }
  /// Freezes zeros, truncation, metalayers, and the first `least` written bytes or some more.
  void freeze_first(std::size_t least) { frozen_.emplace(live_.split_off_first(least)); }
  /// A commit failed: merges the frozen layer into the live one, below newer changes.
  void unfreeze();
  /// A commit succeeded: removes the frozen layer.
  void drop_frozen();
  /// Sets the size of the committed file. The uncommitted changes stay.
  void set_committed_size(std::int64_t committed) { committed_ = committed; }
  /// Sets the size of the file to that of the committed one.
  void take_committed_size() { size_ = committed_; }

 private:
  void count_metalayers();

  std::int64_t size_ = 0, committed_ = 0;
  std::optional<Layer> frozen_;
  Layer live_;
  std::size_t metalayers_memory_ = 0;
};

}  // namespace bloscfs::fs
