#pragma once
// What files were judged to be, by the state that they were judged in.

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "fs/source/judge.hpp"
#include "fs/source/node.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {

/// A file, and what it is judged as.
struct JudgedFile {
  std::uint64_t device = 0, inode = 0;
  Role role = Role::file;
  bool operator==(const JudgedFile&) const = default;
};

/// A FileState in less space.
struct JudgedState {
  JudgedState() = default;
  explicit JudgedState(const FileState& state)
      : device(state.stamp.device),
        inode(state.stamp.inode),
        size(state.stamp.size),
        mtime_ns(nanoseconds(modification_time(state.stamp))),
        ctime_ns(state.ctime_ns) {}
  bool operator==(const JudgedState&) const = default;

  std::uint64_t device = 0, inode = 0;
  std::int64_t size = 0, mtime_ns = 0, ctime_ns = 0;
};

struct KnownVerdict {
  JudgedState state;  ///< of the file when it was judged
  std::int64_t shown_change_ns =
      0;  ///< time of change to show in place of the state's; 0: that one
  Role role = Role::file;
  /// No container, in so young a state that another one may have the same times: not believed.
  bool is_young = false;
  Verdict verdict = {};
};

/// Bounded: a verdict takes about 100 bytes. Not thread-safe.
class VerdictTable {
 public:
  explicit VerdictTable(std::size_t limit) : limit_(limit) {}

  /// Null if there is none; valid until the next call of remember().
  const KnownVerdict* find(const JudgedFile& file) const {
    const auto found = verdicts_.find(file);
    return found == verdicts_.end() ? nullptr : &*found;
  }
  /// Replaces the one on the same file in the same role, or any other when there are too many.
  void remember(const KnownVerdict& verdict) {
    verdicts_.erase(verdict);
    if (verdicts_.size() == limit_) {
      // Any fixed order would meet all files that are looked at in that order.
      victim_ = (victim_ + kVictimStep) % verdicts_.bucket_count();
      while (verdicts_.bucket_size(victim_) == 0)
        victim_ = (victim_ + 1) % verdicts_.bucket_count();
      verdicts_.erase(KnownVerdict(*verdicts_.begin(victim_)));
    }
    verdicts_.insert(verdict);
  }

 private:
  static constexpr std::size_t kVictimStep = 40'503;

  /// Hashes and compares verdicts by their files.
  struct ByFile {
    using is_transparent = void;
    static JudgedFile file_of(const JudgedFile& file) { return file; }
    static JudgedFile file_of(const KnownVerdict& verdict) {
      return {verdict.state.device, verdict.state.inode, verdict.role};
    }
    std::size_t operator()(const auto& one) const noexcept {
      const JudgedFile file = file_of(one);
      const std::uint64_t mixed =
          ((file.inode << 3 | static_cast<std::uint64_t>(file.role)) ^ file.device << 32) *
          0x9E3779B97F4A7C15u;
      return static_cast<std::size_t>(mixed ^ mixed >> 32);
    }
    bool operator()(const auto& one, const auto& other) const {
      return file_of(one) == file_of(other);
    }
  };

  const std::size_t limit_;
  std::unordered_set<KnownVerdict, ByFile, ByFile> verdicts_;
  std::size_t victim_ = 0;  ///< the bucket of the one that gave way last
};

}  // namespace bloscfs::fs
