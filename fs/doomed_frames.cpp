#include "fs/doomed_frames.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>

#include "fs/log.hpp"
#include "fs/on_behalf.hpp"
#include "fs/source_root.hpp"

namespace bloscfs::fs {

void remove_frame_directory(const SourceDirectory& parent, const std::string& name) noexcept {
  const OnBehalfOf nobody(nullptr);
  try {
    // Its old name must not come back when parts of it are gone.
    parent.sync();
    const SourceRoot frame(parent.open(name, O_RDONLY | O_DIRECTORY));
    const SourceDirectory files = frame.directory({});
    for (const SourceRoot::Entry& entry : frame.list({})) files.remove_file(entry.name);
    parent.remove_directory(name);
  } catch (const std::exception& error) {
    log::warn(fmt::format("a removed sparse frame leaves files behind: {}", error.what()));
  }
}

struct DoomedFrames::Frame {
  Frame(std::shared_ptr<Registry> in, SourceDirectory where, std::string named)
      : registry(std::move(in)), parent(std::move(where)), name(std::move(named)) {}
  ~Frame() {
    remove_frame_directory(parent, name);
    const MutexLock lock(registry->mutex);
    registry->frames.erase(name);
    registry->ended.notify_all();
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const std::shared_ptr<Registry> registry;
  SourceDirectory parent;
  const std::string name;
};

std::shared_ptr<void> DoomedFrames::add(SourceDirectory parent, const std::string& name) {
  auto frame = std::make_shared<Frame>(registry_, std::move(parent), name);
  const MutexLock lock(registry_->mutex);
  registry_->frames[name] = frame;
  return frame;
}

bool DoomedFrames::relocate(const std::string& name, const SourceDirectory& from,
                            SourceDirectory to) {
  std::shared_ptr<Frame> frame;  // destroyed behind the lock
  const MutexLock lock(registry_->mutex);
  for (;;) {
    const auto found = registry_->frames.find(name);
    if (found == registry_->frames.end()) return false;
    frame = found->second.lock();
    if (frame) break;
    registry_->ended.wait(registry_->mutex);
  }
  const OnBehalfOf nobody(nullptr);
  from.rename(name, to, name);
  frame->parent = std::move(to);
  return true;
}

}  // namespace bloscfs::fs
