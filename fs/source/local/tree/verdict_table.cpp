#include "fs/source/local/tree/verdict_table.hpp"

namespace bloscfs::fs {
namespace {

/// Steps from one that gives way to the next, so that no order of looking meets all of them.
constexpr std::size_t kVictimStep = 40'503;

std::size_t hash_of(std::uint64_t device, std::uint64_t inode, Role role) {
  const std::uint64_t mixed =
      ((inode << 3 | static_cast<std::uint64_t>(role)) ^ device << 32) * 0x9E3779B97F4A7C15u;
  return static_cast<std::size_t>(mixed ^ mixed >> 32);
}

}  // namespace

const KnownVerdict* VerdictTable::find(std::uint64_t device, std::uint64_t inode, Role role) const {
  const std::size_t bucket = hash_of(device, inode, role) & (buckets_.size() - 1);
  for (std::uint32_t number = buckets_[bucket]; number != 0; number = verdicts_[number - 1].next) {
    const KnownVerdict& verdict = verdicts_[number - 1];
    if (verdict.file.device == device && verdict.file.inode == inode && verdict.role == role)
      return &verdict;
  }
  return nullptr;
}

void VerdictTable::remember(const KnownVerdict& verdict) {
  if (const KnownVerdict* const known =
          find(verdict.file.device, verdict.file.inode, verdict.role)) {
    KnownVerdict& replaced = verdicts_[static_cast<std::size_t>(known - verdicts_.data())];
    // The verdict is copied over the old one, but the chain of its bucket goes on.
    const std::uint32_t next = replaced.next;
    replaced = verdict;
    replaced.next = next;
    return;
  }
  std::size_t place = verdicts_.size();
  if (place < limit_) {
    if (place == buckets_.size()) grow();
    verdicts_.push_back(verdict);
  } else {
    place = victim_ = (victim_ + kVictimStep) % limit_;
    unlink(static_cast<std::uint32_t>(place));
    verdicts_[place] = verdict;
  }
  link(static_cast<std::uint32_t>(place));
}

std::uint32_t& VerdictTable::bucket_of(const KnownVerdict& verdict) {
  return buckets_[hash_of(verdict.file.device, verdict.file.inode, verdict.role) &
                  (buckets_.size() - 1)];
}

void VerdictTable::grow() {
  buckets_ = std::vector<std::uint32_t>(2 * buckets_.size());
  for (std::size_t place = 0; place < verdicts_.size(); place++)
    link(static_cast<std::uint32_t>(place));
}

void VerdictTable::link(std::uint32_t place) {
  std::uint32_t& first = bucket_of(verdicts_[place]);
  verdicts_[place].next = first;
  first = place + 1;
}

void VerdictTable::unlink(std::uint32_t place) {
  std::uint32_t* number = &bucket_of(verdicts_[place]);
  while (*number != place + 1) number = &verdicts_[*number - 1].next;
  *number = verdicts_[place].next;
}

}  // namespace bloscfs::fs
