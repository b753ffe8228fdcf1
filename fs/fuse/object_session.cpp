// A session with a SOURCE of objects.

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fs/fuse/session_source.hpp"
#include "fs/mount/make_mount.hpp"

namespace bloscfs::fs {
namespace {

/// Refuses options that objects do not support.
void refuse_options(const MountOptions& options) {
  const auto refuse = [](const char* option) {
    throw std::runtime_error(fmt::format("option {}: cannot be used with a URL", option));
  };
  if (options.cross_mounts) refuse("cross_mounts");
  if (options.write.locking) refuse("locking");
  if (options.unsupported != UnsupportedFiles::refused) refuse("unsupported");
}

/// Makes the mount read-only if the objects cannot be written. If the user asked for a writable
/// mount, returns a notice, or throws.
std::vector<std::string> follow_writability(const ObjectSetting& objects, MountOptions& options) {
  if (objects.is_writable) return {};
  const bool was_asked_for = !options.read_only && options.unwritable != Unwritable::shown;
  options.read_only = true;
  if (!was_asked_for) return {};
  if (options.unwritable == Unwritable::refused)
    throw std::runtime_error("cannot be written; mount it with ro, or without rw");
  return {fmt::format("{}: cannot be written; mounted read-only", objects.shown)};
}

class ObjectSessionSource final : public SessionSource {
 public:
  explicit ObjectSessionSource(std::shared_ptr<const ObjectSetting> objects)
      : objects_(std::move(objects)) {}

  void open(Sandbox&, SessionSettings& settings) override {
    refuse_options(settings.options);
    notices_ = follow_writability(*objects_, settings.options);
    // nosuid and nodev are forced: a user who can change the objects must not gain rights on this
    // host.
    std::erase_if(settings.options.passthrough_options,
                  [](const std::string& option) { return option == "suid" || option == "dev"; });
    settings.options.passthrough_options.insert(settings.options.passthrough_options.end(),
                                                {"nosuid", "nodev"});
  }
  std::vector<std::string> notices() const override { return notices_; }
  std::string name(const SessionSettings&) const override { return objects_->shown; }
  void on_mounted(const std::optional<MountEntry>&, const SessionSettings&) override {}
  void close(Sandbox& sandbox, const MountOptions&) override {
    sandbox.close_for_network(objects_->files, objects_->folders);
  }
  std::unique_ptr<Mount> show(const MountOptions& options, const WorkerCounts& workers,
                              PagePool& pages, const frame::Clock& clock) override {
    return mount_objects(objects_->open(), options, workers.coding, pages, clock);
  }

 private:
  const std::shared_ptr<const ObjectSetting> objects_;
  std::vector<std::string> notices_;
};

}  // namespace

std::unique_ptr<SessionSource> make_object_source(std::shared_ptr<const ObjectSetting> objects) {
  return std::make_unique<ObjectSessionSource>(std::move(objects));
}

}  // namespace bloscfs::fs
