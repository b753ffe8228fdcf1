#pragma once
// What was written to a file since its last commit, as a value.

#include <cstdint>
#include <optional>
#include <span>

#include "codec/bytes.hpp"
#include "fs/content/layer.hpp"

namespace bloscfs::fs {

/// The size of a file, and what was written over its committed bytes. While a commit is under way
/// there are two layers: the frozen one, which the commit stores and nobody changes, and over it
/// the live one, which takes what is written meanwhile. Not thread-safe.
class Written {
 public:
  explicit Written(PagePool& pages) : live_(pages) {}

  std::int64_t size() const { return size_; }
  /// Bytes of the file that is committed, which lies below.
  std::int64_t committed_size() const { return committed_; }
  const Layer& live() const { return live_; }
  /// Null while no commit is under way.
  const Layer* frozen() const { return frozen_ ? &*frozen_ : nullptr; }
  /// True if the file is as it is committed.
  bool is_clean() const { return !frozen_ && live_.empty() && size_ == committed_; }
  /// True if bytes or the size were changed since the layer was frozen, or since the last commit.
  bool changes_contents() const { return live_.has_contents() || size_ != committed_; }

  // --- reading

  /// Committed bytes from here on are hidden.
  std::int64_t lower_end() const;
  /// True if a range is as it is committed.
  bool is_untouched(std::int64_t offset, std::int64_t size) const;
  /// Puts what was written of [offset, offset + out.size()) over what is in `out`.
  void apply(std::int64_t offset, codec::MutableBytes out) const;
  /// At least the bytes of the file that are data, where committed ones count as such.
  std::int64_t data_size() const;
  /// Bytes that the live layer has.
  std::int64_t written_size() const;
  LayerChanges metalayers() const;
  /// Bytes of memory that metalayers take, also in a commit.
  std::size_t metalayers_memory() const { return metalayers_memory_; }

  // --- changes of the live layer

  void write(std::int64_t offset, codec::Bytes bytes);
  /// The same for bytes one behind the other; may take the cells, and leave empty ones.
  void write(std::int64_t offset, std::span<PooledBuffer> cells);
  /// What is added reads as zeros.
  void resize(std::int64_t size);
  /// Makes a range of the file read as zeros.
  void zero(std::int64_t offset, std::int64_t size) { live_.bytes.zero(offset, size); }
  void set_metalayer(const LayerName& name, LayerChange value);
  /// Forgets written bytes and cuts. The size stays.
  void drop_contents();
  void drop_metalayers();

  // --- commits

  /// All of the live layer becomes the frozen one.
  void freeze_all() { frozen_.emplace(live_.take_all()); }
  /// The same for what the rest does not need below it: all but the last written bytes, of which
  /// the first `least` are frozen, too.
  void freeze_first(std::size_t least) { frozen_.emplace(live_.split_off_first(least)); }
  /// What was frozen lies below what was written since, in one layer.
  void unfreeze();
  /// What was frozen is committed.
  void drop_frozen();
  /// The committed file below has another size. What was written stays.
  void lie_over(std::int64_t committed) { committed_ = committed; }
  /// The file has the size of the committed one.
  void take_committed_size() { size_ = committed_; }

 private:
  void count_metalayers();

  std::int64_t size_ = 0, committed_ = 0;
  std::optional<Layer> frozen_;
  Layer live_;
  std::size_t metalayers_memory_ = 0;
};

}  // namespace bloscfs::fs
