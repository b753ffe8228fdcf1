#include "tests/fuzz/fuzz_mount.hpp"

#include <chrono>
#include <exception>
#include <utility>

namespace bloscfs::fuzz {

FuzzMount::FuzzMount(FuseChannel& channel, const std::string& source,
                     const fs::MountOptions& options)
    : channel_(channel) {
  fs::MountSource opened = fs::open_source(source, options.raw, options.stores);
  if (!options.read_only) {
    lock_.emplace(opened.root.get(), opened.single, std::chrono::milliseconds(0));
    lock_->make_durable();
  }
  mount_ = fs::mount_files(std::move(opened), options, fs::WorkerCounts{1, 1},
                           lock_ ? &*lock_ : nullptr, pages_);
  mount_->kernel_cache().forget_pages = [this](fs::NodeId node, std::function<void()> done) {
    std::shared_ptr<fs::KernelFlush> kernel_flush;
    {
      const fs::MutexLock lock(mutex_);
      kernel_flush = kernel_flush_;
    }
    if (kernel_flush) kernel_flush->before(node, std::move(done));
  };
  const fs::MutexLock lock(mutex_);
  kernel_flush_ = std::make_shared<fs::KernelFlush>(channel.state().session);
  running_options_.emplace(
      options, [this](const fs::MountOptions& changed) { mount_->change_options(changed); });
  channel.state().mount = mount_.get();
  channel.state().running_options = &*running_options_;
  channel.state().kernel_flush = kernel_flush_.get();
  channel.state().writeback = options.write.writeback && !options.read_only;
}

FuzzMount::~FuzzMount() {
  channel_.state().mount = nullptr;
  channel_.state().running_options = nullptr;
  channel_.state().kernel_flush = nullptr;
  std::shared_ptr<fs::KernelFlush> ended;
  {
    const fs::MutexLock lock(mutex_);
    ended.swap(kernel_flush_);
  }
  ended.reset();
  mount_.reset();
}

bool FuzzMount::commit() {
  try {
    mount_->commit_all();
    return true;
  } catch (const std::exception&) {
    lock_->leave_unfinished();
    return false;
  }
}

void FuzzMount::kill() { lock_->leave_unfinished(); }

}  // namespace bloscfs::fuzz
