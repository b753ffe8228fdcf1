#pragma once
// The contents of a saved copy: the committed file with the uncommitted changes.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "fs/content/layer.hpp"
#include "fs/encoding/plain_to_frame.hpp"
#include "fs/view/file_view.hpp"

namespace bloscfs::fs {

/// Borrows the layer and the view `base`, which may be null. Below the layer are the bytes of
/// `base`, or zeros behind `header`, an array's, if it is null. Zeros also stand for the parts of a
/// damaged file that do not decode. Throws the other errors of FileView, and EIO if another program
/// has changed the file in place.
class PendingBytes final : public FileBytes {
 public:
  PendingBytes(const FileView* base, std::vector<std::uint8_t> header, const Layer& layer,
               std::int64_t size)
      : base_(base), header_(std::move(header)), layer_(layer), size_(size) {}

  std::int64_t size() const override { return size_; }
  std::int64_t next_data(Request& request, std::int64_t offset) const override;
  void read(Request& request, std::int64_t offset, codec::MutableBytes out) const override;
  /// True if committed bytes that were read do not match their checksum.
  bool is_doubtful() const { return is_doubtful_; }
  /// True if zeros stand for parts that do not decode.
  bool has_gaps() const { return has_gaps_; }

 private:
  /// Which of the chunks of a range cannot be opened, as far as is known.
  enum class Missing { none, some, all };
  Missing missing_chunks(std::int64_t offset, std::int64_t size) const;
  void find_missing_chunks(Request& request, std::int64_t offset, std::int64_t size) const;
  bool try_base(Request& request, std::int64_t offset, codec::MutableBytes out) const;
  void read_base(Request& request, std::int64_t offset, codec::MutableBytes out) const;
  void compare_checksums(Request& request, std::int64_t offset, std::int64_t size) const;
  /// Returns the offset of the first committed byte from `offset` on that may not be zero, and that
  /// the layer does not zero; the file's size if there is none.
  std::int64_t next_below(Request& request, std::int64_t offset) const;

  const FileView* base_;
  const std::vector<std::uint8_t> header_;
  const Layer& layer_;
  const std::int64_t size_;
  mutable std::atomic<bool> is_doubtful_{false};  ///< several threads call read()
  mutable std::atomic<bool> has_gaps_{false};
  /// How many reads of few bytes may still fail. Each takes some 50 microseconds.
  mutable std::atomic<int> fine_reads_{100'000};
  mutable std::mutex missing_mutex_;
  /// Chunks that cannot be opened, for example since an object store has lost them. Asking again
  /// for each of their bytes would take one request each.
  mutable std::set<std::int64_t> missing_;
};

}  // namespace bloscfs::fs
