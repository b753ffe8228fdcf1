#include "fs/source/local/descriptor_shares.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <fmt/core.h>
#include <sys/resource.h>

#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::fs {
namespace {

/// Of the daemon: threads, directories, commits of single files, and what is looked at for a
/// moment.
constexpr std::size_t kOthers = 256;
/// Of a file of a batch, beside those that count to a user: another frame that takes its place, its
/// locks; and its own ones, which are closed with the last of the batch.
constexpr std::size_t kOfCommit = 4;
constexpr std::size_t kLargestBatch = 256;
constexpr std::size_t kMostWatched = 1024;

/// How long one waits for commits of one's own files.
constexpr std::chrono::seconds kTimeout{10};
constexpr std::chrono::milliseconds kCountAgain{500};

}  // namespace

DescriptorLimits::DescriptorLimits(std::size_t limit) {
  const std::size_t own = std::min(limit / 2, kOthers + kMostWatched + kLargestBatch * kOfCommit);
  const std::size_t others = std::min(own / 2, kOthers);
  // What commits need goes first; an eighth is always left.
  const std::size_t for_commits = others + kLargestBatch * kOfCommit;
  watched = std::max(own / 8, own - std::min(own, for_commits));
  for_files = limit - own;
  batch = std::clamp<std::size_t>((own - others - watched) / kOfCommit, 1, kLargestBatch);
}

DescriptorLimits DescriptorLimits::of_process() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) frame::throw_errno("getrlimit");
  return DescriptorLimits(limit.rlim_cur);
}

FairShare::Part DescriptorShares::take(Request& request, std::size_t amount) {
  const uid_t user = request.payer();
  if (auto part = share_.take(user, amount)) return part;
  request.need_slot();
  const frame::WaitMark mark(frame::WaitReason::commit);
  // Again and again: other threads of his close files meanwhile.
  for (const auto end = clock_.now() + kTimeout; committer_.hurry(user) && clock_.now() < end;) {
    if (auto part = share_.take(user, amount, kCountAgain, clock_)) return part;
  }
  // What was waited for may have ended between the two looks.
  if (auto part = share_.take(user, amount)) return part;
  log_.error(user, fmt::format("user {} has too many files open: close some, or mount with a "
                               "higher limit of descriptors "
                               "(ulimit -Hn)",
                               user));
  frame::throw_errno(EMFILE, "open");
}

}  // namespace bloscfs::fs
