#include "fs/source/local/names/removed_sframes.hpp"

#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "frame/header/sframe_format.hpp"
#include "fs/source/local/files/on_behalf.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/support/lock_breaks.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {

namespace {

bool is_part(const std::string& name, const struct stat& st) {
  return S_ISREG(st.st_mode) && (frame::is_sframe_file(name) || frame::is_temporary_name(name));
}

}  // namespace

void remove_frame_directory(const SourceDirectory& parent, const std::string& name,
                            const frame::ObjectIdentity& identity) noexcept {
  const OnBehalfOf nobody(nullptr);
  try {
    // Durable first: after a power cut the frame must not stand under its old name with parts of it
    // gone.
    parent.sync();
    frame::UniqueFd directory = parent.open(name, O_RDONLY | O_DIRECTORY);
    if (frame::identity_at(directory.get(), {}) != identity)
      // Nothing is removed by its name alone: SOURCE is everybody's, and another program may have
      // put its own directory there.
      throw std::runtime_error("another directory has the name");
    const SourceRoot frame(std::move(directory));
    const SourceDirectory files = frame.directory({});
    bool is_shared = false;
    for (const SourceRoot::Entry& entry : frame.list({})) {
      const auto st = files.stat(entry.name);
      if (st && is_part(entry.name, *st))
        files.remove_file(entry.name);
      else
        is_shared |= st.has_value();
    }
    if (is_shared) throw std::runtime_error("holds what is no part of it");
    parent.remove_directory(name);
  } catch (const std::exception& error) {
    log::warn(fmt::format("{}: the removed sparse frame leaves files behind: {}",
                          parent.path_of(name), error.what()));
  }
}

struct RemovedSframes::Frame {
  Frame(std::shared_ptr<Registry> in, SourceDirectory where, std::string named,
        const frame::ObjectIdentity& what)
      : registry(std::move(in)), parent(std::move(where)), name(std::move(named)), identity(what) {}
  ~Frame() {
    remove_frame_directory(parent, name, identity);
    const MutexLock lock(registry->mutex);
    registry->frames.erase(name);
    registry->ended.notify_all();
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const std::shared_ptr<Registry> registry;
  SourceDirectory parent;
  const std::string name;
  const frame::ObjectIdentity identity;
};

std::shared_ptr<void> RemovedSframes::add(SourceDirectory parent, const std::string& name,
                                          const frame::ObjectIdentity& identity) {
  auto frame = std::make_shared<Frame>(registry_, std::move(parent), name, identity);
  const MutexLock lock(registry_->mutex);
  registry_->frames[name] = frame;
  return frame;
}

bool RemovedSframes::is_ending(const Registry& registry, const std::string& name) {
  const auto found = registry.frames.find(name);
  // The destructor of the last owner is at work: it takes the entry out when the files are gone.
  return found != registry.frames.end() && found->second.expired();
}

void RemovedSframes::wait_until_removed(const std::string& name) {
  {
    Registry& registry = *registry_;
    const MutexLock lock(registry.mutex);
    if (!is_ending(registry, name)) return;
  }
  Attempts::without_lock([kept = registry_, name] {
    Registry& registry = *kept;
    const MutexLock lock(registry.mutex);
    while (is_ending(registry, name)) registry.ended.wait(registry.mutex);
  });
}

bool RemovedSframes::relocate(const std::string& name, const SourceDirectory& from,
                              const SourceDirectory& to) {
  std::shared_ptr<Frame> frame;  // destroyed behind the lock
  const MutexLock lock(registry_->mutex);
  for (;;) {
    const auto found = registry_->frames.find(name);
    if (found == registry_->frames.end()) return false;
    frame = found->second.lock();
    // A frame whose destructor is at work already cannot be kept from it: its directory is empty
    // soon.
    if (frame) break;
    registry_->ended.wait(registry_->mutex);
  }
  if (frame::identity_at(from.descriptor(), name) != frame->identity) return false;
  const OnBehalfOf nobody(nullptr);
  from.rename(name, to, name);
  frame->parent = to;
  return true;
}

}  // namespace bloscfs::fs
