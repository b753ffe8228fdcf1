#pragma once
// What files were judged to be, by the state that they were judged in. Bounded; a verdict takes
// about 80 bytes.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fs/source/judge.hpp"

namespace bloscfs::fs {

/// A file in one state.
struct JudgedFile {
  std::uint64_t device = 0, inode = 0;
  std::int64_t size = 0, mtime_ns = 0, ctime_ns = 0;
  bool operator==(const JudgedFile&) const = default;
};

struct KnownVerdict {
  JudgedFile file;
  std::int64_t shown_change_ns = 0;  ///< time of change to show in place of ctime_ns; 0: that one
  std::uint32_t next = 0;            ///< the table's: the verdict behind it in its bucket, or 0
  Role role = Role::file;
  /// No container, in so young a state that another one may have the same times: not believed.
  bool is_young = false;
  Verdict verdict = {};
};

/// Not thread-safe.
class VerdictTable {
 public:
  explicit VerdictTable(std::size_t limit) : limit_(limit), buckets_(kFewestBuckets) {}

  /// Null if there is none; valid until the next call of remember().
  const KnownVerdict* find(std::uint64_t device, std::uint64_t inode, Role role) const;
  /// Replaces the one on the same file in the same role, or any other when there are too many.
  void remember(const KnownVerdict& verdict);

 private:
  static constexpr std::size_t kFewestBuckets = 64;

  std::uint32_t& bucket_of(const KnownVerdict& verdict);
  void grow();
  void unlink(std::uint32_t place);
  void link(std::uint32_t place);

  const std::size_t limit_;
  std::vector<KnownVerdict> verdicts_;
  std::vector<std::uint32_t> buckets_;  ///< numbers as KnownVerdict::next; a power of two of them
  std::size_t victim_ = 0;
};

}  // namespace bloscfs::fs
