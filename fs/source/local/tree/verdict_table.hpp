#pragma once
// Remembers what files were judged to be, by the state in which they were judged.

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "fs/source/judge.hpp"
#include "fs/source/node.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {

/// A FileState in less memory.
struct JudgedState {
  std::uint64_t device = 0, inode = 0;
  std::int64_t size = 0, mtime_ns = 0, ctime_ns = 0;
  bool operator==(const JudgedState&) const = default;
};
inline JudgedState judged_state(const FileState& state) {
  const frame::FileStamp& stamp = state.stamp;
  return {stamp.device, stamp.inode, stamp.size, nanoseconds(modification_time(stamp)),
          state.ctime_ns};
}

struct KnownVerdict {
  JudgedState state;  ///< of the file when it was judged
  /// Time of change to show instead of state.ctime_ns; 0: state.ctime_ns is shown.
  std::int64_t shown_change_ns = 0;
  Role role = Role::file;
  /// Not a container, and judged so soon after its last change that a later state may have the same
  /// times. Such a verdict is not used.
  bool is_young = false;
  Verdict verdict = {};
};

/// Verdicts by file and role, in bounded memory: a verdict takes about 100 bytes. Not thread-safe.
class VerdictTable {
 public:
  explicit VerdictTable(std::size_t limit) : limit_(limit) {}

  /// Returns null if there is no verdict. The result is valid until the next call of remember().
  const KnownVerdict* find(std::uint64_t device, std::uint64_t inode, Role role) const {
    const auto found = verdicts_.find({.state = {.device = device, .inode = inode}, .role = role});
    return found == verdicts_.end() ? nullptr : &*found;
  }
  /// Adds a verdict, and drops the old one on the same file in the same role. If the table is full,
  /// drops another one.
  void remember(const KnownVerdict& verdict) {
    verdicts_.erase(verdict);
    if (verdicts_.size() == limit_) {
      // Jumps between buckets. In a fixed order it would drop the very verdicts that a repeated
      // walk through the files needs next.
      victim_ = (victim_ + kVictimStep) % verdicts_.bucket_count();
      while (verdicts_.bucket_size(victim_) == 0)
        victim_ = (victim_ + 1) % verdicts_.bucket_count();
      verdicts_.erase(KnownVerdict(*verdicts_.begin(victim_)));
    }
    verdicts_.insert(verdict);
  }

 private:
  static constexpr std::size_t kVictimStep = 40'503;

  struct SameFile {
    bool operator()(const KnownVerdict& one, const KnownVerdict& other) const {
      return one.state.device == other.state.device && one.state.inode == other.state.inode &&
             one.role == other.role;
    }
  };
  struct HashOfFile {
    std::size_t operator()(const KnownVerdict& one) const noexcept {
      const std::uint64_t mixed =
          ((one.state.inode << 3 | static_cast<std::uint64_t>(one.role)) ^ one.state.device << 32) *
          0x9E3779B97F4A7C15u;
      return static_cast<std::size_t>(mixed ^ mixed >> 32);
    }
  };

  const std::size_t limit_;
  std::unordered_set<KnownVerdict, HashOfFile, SameFile> verdicts_;
  std::size_t victim_ = 0;  ///< the bucket of the verdict that was dropped last
};

}  // namespace bloscfs::fs
