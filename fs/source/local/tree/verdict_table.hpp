#pragma once
// What files were judged to be, by the state that they were judged in. Bounded; a verdict takes
// about 80 bytes.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fs/view/naming.hpp"

namespace bloscfs::fs {

struct Verdict {
  std::uint64_t device, inode;            ///< of the file that was judged
  std::int64_t size, mtime_ns, ctime_ns;  ///< its state
  std::int64_t shown_size, stored_size;
  std::int64_t shown_change_ns;  ///< time of change to show in place of ctime_ns; 0: that one
  std::uint32_t next;  ///< the table's: one verdict behind the next of the same bucket, or 0
  ShownAs shown;
  bool is_store : 1;          ///< of python-blosc2, if its name has the suffix of one
  bool is_zip : 1;            ///< looked at as such
  bool has_store_marker : 1;  ///< a directory is a store with it as embed.b2e
  bool has_embedded : 1;      ///< some leaf may be in it then
  bool is_sframe : 1;         ///< a sparse frame: index and directory are judged apart, by one file
  bool is_container : 1;
  bool is_read_only : 1;
  bool is_damaged : 1;      ///< its bytes announce a container, and contradict that
  bool is_unsupported : 1;  ///< of a codec, a filter or a format version that we lack
  /// No container, in so young a state that another one may have the same times: not believed.
  bool is_young : 1;
  bool may_lack_contents : 1;
  bool has_metalayers : 1;  ///< that are listed as attributes, as far as its header tells
};

/// Not thread-safe.
class VerdictTable {
 public:
  explicit VerdictTable(std::size_t limit) : limit_(limit), buckets_(kFewestBuckets) {}

  /// Null if there is none; valid until the next call of remember().
  const Verdict* find(std::uint64_t device, std::uint64_t inode, bool is_sframe) const;
  /// Replaces the verdict on the same file, or any other one when there are too many.
  void remember(const Verdict& verdict);

 private:
  static constexpr std::size_t kFewestBuckets = 64;

  std::uint32_t& bucket_of(const Verdict& verdict);
  void grow();
  void unlink(std::uint32_t place);
  void link(std::uint32_t place);

  const std::size_t limit_;
  std::vector<Verdict> verdicts_;
  std::vector<std::uint32_t> buckets_;  ///< numbers as Verdict::next; a power of two of them
  std::size_t victim_ = 0;
};

}  // namespace bloscfs::fs
