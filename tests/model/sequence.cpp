#include "tests/model/sequence.hpp"

#include <algorithm>

#include "tests/model/stored_frames.hpp"

namespace bloscfs::test {

namespace {

constexpr std::uint64_t kBetweenRemounts = 270;
constexpr std::uint64_t kBetweenComparisons = 90;
constexpr unsigned kLookPercent = 60;

/// The mount of a sequence, which is unmounted and mounted again.
class Remounting {
 public:
  Remounting(fs_std::path source, std::vector<std::string> options)
      : source_(std::move(source)), options_(std::move(options)) {
    mount();
  }

  Mount& mount() {
    MountSettings settings;
    settings.options = options_;
    mount_ = std::make_unique<Mount>(source_, settings);
    return *mount_;
  }

  /// Throws Difference if the daemon fails.
  void unmount() {
    const ProcessResult& result = mount_->unmount();
    if (!result.ok()) throw Difference("the daemon: " + result.description());
    mount_.reset();
  }

  const fs_std::path& path() const { return mount_->path(); }
  std::string log() const { return mount_ ? "\nthe daemon's log:\n" + mount_->log() : ""; }

 private:
  const fs_std::path source_;
  const std::vector<std::string> options_;
  std::unique_ptr<Mount> mount_;
};

void work(Lockstep& lockstep, Remounting& mount, const Variant& variant, std::uint64_t seed,
          std::uint64_t count) {
  lockstep.compare_trees();
  for (std::uint64_t done = 0; done < count; done += kBetweenRemounts) {
    run_operations(lockstep, variant, seed + done * 1'000'003,
                   std::min(kBetweenRemounts, count - done));
    lockstep.compare_trees();
    lockstep.close_all();
    mount.unmount();
    mount.mount();
    lockstep.moved(mount.path());
    lockstep.compare_committed_trees();
  }
}

}  // namespace

void run_operations(Lockstep& lockstep, const Variant& variant, std::uint64_t seed,
                    std::uint64_t count) {
  Chooser chooser(seed, variant.names, variant.kinds, lockstep.model());
  for (std::uint64_t i = 0; i < count; ++i) {
    const Operation operation = chooser.next();
    lockstep.step(operation, chooser.chance(kLookPercent));
    if (i % kBetweenComparisons == kBetweenComparisons - 1) lockstep.compare_trees();
  }
}

Counts run_sequence(const Variant& variant, std::uint64_t seed, std::uint64_t count) {
  const TempDir source, model;
  const fs_std::path mounted = variant.prepare(source.path(), model.path());
  Remounting mount(mounted, mount_options(seed));
  Lockstep lockstep(model.path(), mount.path(), source.path());
  try {
    work(lockstep, mount, variant, seed, count);
    mount.unmount();
    const std::string problem = problem_in_source(source.path(), model.path());
    if (!problem.empty()) throw Difference("in SOURCE: " + problem);
  } catch (const Difference& difference) {
    throw Difference(difference.what() + mount.log());
  }
  return lockstep.counts();
}

}  // namespace bloscfs::test
