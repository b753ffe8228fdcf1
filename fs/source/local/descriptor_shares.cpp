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

/// The daemon's own descriptors: for threads, directories, commits of single files, and files that
/// it reads briefly.
constexpr std::size_t kOthers = 256;
/// Descriptors for each file of a batch, in addition to those counted to a user: for the frame that
/// replaces the file, for locks, and for files that the commit opens and closes only with the whole
/// batch.
constexpr std::size_t kOfCommit = 4;
constexpr std::size_t kLargestBatch = 256;
constexpr std::size_t kMostWatched = 1024;

/// How long an open waits for commits of the same user's files.
constexpr std::chrono::seconds kTimeout{10};
/// After this time a waiting open asks for commits again.
constexpr std::chrono::milliseconds kCountAgain{500};

}  // namespace

DescriptorLimits::DescriptorLimits(std::size_t limit) {
  const std::size_t own = std::min(limit / 2, kOthers + kMostWatched + kLargestBatch * kOfCommit);
  const std::size_t others = std::min(own / 2, kOthers);
  // Commits get what they need first, but at least an eighth is left for watched directories.
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
  // Asks for commits repeatedly, since the user's other threads may close more files during the
  // wait.
  for (const auto end = clock_.now() + kTimeout; committer_.make_due(user) && clock_.now() < end;) {
    if (auto part = share_.take(user, amount, kCountAgain, clock_)) return part;
  }
  // The last commit may have ended between the last take() and make_due().
  if (auto part = share_.take(user, amount)) return part;
  log_.error(user, fmt::format("user {} has too many files open: close some, or mount with a "
                               "higher limit of descriptors "
                               "(ulimit -Hn)",
                               user));
  frame::throw_errno(EMFILE, "open");
}

}  // namespace bloscfs::fs
