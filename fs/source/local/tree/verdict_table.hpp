#pragma once
// What files were judged to be, by the state that they were judged in.

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "fs/source/judge.hpp"
#include "fs/source/node.hpp"

namespace bloscfs::fs {

/// A file, and what it is judged as.
struct JudgedFile {
  std::uint64_t device = 0, inode = 0;
  Role role = Role::file;
  bool operator==(const JudgedFile&) const = default;
};

struct KnownVerdict {
  FileState state;  ///< of the file when it was judged
  std::int64_t shown_change_ns =
      0;  ///< time of change to show in place of the state's; 0: that one
  /// No container, in so young a state that another one may have the same times: not believed.
  bool is_young = false;
  Verdict verdict = {};
};

/// Bounded: a verdict takes about 140 bytes. Not thread-safe.
class VerdictTable {
 public:
  explicit VerdictTable(std::size_t limit) : limit_(limit) {}

  /// Null if there is none; valid until the next call of remember().
  const KnownVerdict* find(const JudgedFile& file) const {
    const auto found = verdicts_.find(file);
    return found == verdicts_.end() ? nullptr : &found->second;
  }
  /// Replaces the one on the same file in the same role, or any other when there are too many.
  void remember(const JudgedFile& file, const KnownVerdict& verdict) {
    if (verdicts_.size() == limit_ && !verdicts_.contains(file)) {
      // Any fixed order would meet all files that are looked at in that order.
      victim_ = (victim_ + kVictimStep) % verdicts_.bucket_count();
      while (verdicts_.bucket_size(victim_) == 0)
        victim_ = (victim_ + 1) % verdicts_.bucket_count();
      const JudgedFile victim = verdicts_.begin(victim_)->first;
      verdicts_.erase(victim);
    }
    verdicts_.insert_or_assign(file, verdict);
  }

 private:
  static constexpr std::size_t kVictimStep = 40'503;

  struct Hash {
    std::size_t operator()(const JudgedFile& file) const noexcept {
      const std::uint64_t mixed =
          ((file.inode << 3 | static_cast<std::uint64_t>(file.role)) ^ file.device << 32) *
          0x9E3779B97F4A7C15u;
      return static_cast<std::size_t>(mixed ^ mixed >> 32);
    }
  };

  const std::size_t limit_;
  std::unordered_map<JudgedFile, KnownVerdict, Hash> verdicts_;
  std::size_t victim_ = 0;  ///< the bucket of the one that gave way last
};

}  // namespace bloscfs::fs
