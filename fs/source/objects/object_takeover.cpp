#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "frame/store/local_store.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/encoding/plain_to_frame.hpp"
#include "fs/source/naming.hpp"
#include "fs/source/objects/object_takeover.hpp"
#include "fs/support/relative_path.hpp"

namespace bloscfs::fs {
namespace {

/// Of this host, as it can stand in a name.
std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "host";
  std::string host(name);
  std::replace_if(
      host.begin(), host.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.'; }, '_');
  return host.substr(0, 64);
}

/// A frame beside the one that another host has committed.
class FrameBeside final : public Refuge {
 public:
  FrameBeside(Objects& objects, const Objects::Stored& stored, const std::string& suffix)
      : objects_(objects), stored_(stored), suffix_(suffix) {
    if (!take_another_name()) frame::throw_errno(EEXIST, name_);
  }

  std::string path() const override { return path_in(stored_.directory, stored_.name); }
  std::shared_ptr<frame::StoreDirectory> directory() const override {
    return objects_.frames()->directory(stored_.directory);
  }
  std::optional<std::string> shared_name() const override { return name_; }
  bool take_another_name() override {
    while (number_ < kMostDatedNames) {
      name_ =
          dated_name(stored_.shown_name, "conflict-" + host_name(), std::time(nullptr), ++number_) +
          suffix_;
      if (!objects_.is_taken(stored_.directory, name_)) return true;
    }
    return false;
  }
  /// It has its name, and is durable, as soon as it is complete.
  std::string keep(const StoredFrame&, const frame::FrameWriter*) override {
    std::string kept = path_in(stored_.directory, name_);
    objects_.forget_listing_of(kept);
    return kept;
  }

 private:
  Objects& objects_;
  const Objects::Stored stored_;
  const std::string suffix_;
  int number_ = 0;
  std::string name_;
};

/// A frame in a folder of this host.
class FrameInFolder final : public Refuge {
 public:
  FrameInFolder(const Objects::Stored& stored, std::string folder)
      : shown_(path_in(stored.directory, stored.name)),
        folder_(std::move(folder)),
        shown_name_(stored.shown_name) {
    frame::UniqueFd opened(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened) frame::throw_errno(folder_);
    directory_ = frame::make_local_store(std::move(opened), nullptr);
  }

  std::string path() const override { return shown_; }
  std::shared_ptr<frame::StoreDirectory> directory() const override { return directory_; }
  std::string keep(const StoredFrame& made, const frame::FrameWriter*) override {
    const std::string name = rename_to_free(made.name);
    directory_->sync_name(name);
    return folder_ + "/" + name;
  }

 private:
  /// Files of one name in several directories, and mounts that share the folder, may want the same.
  std::string rename_to_free(const std::string& made) {
    for (int number = 1;; number++) {
      std::string name = dated_name(shown_name_, "unsent", std::time(nullptr), number) + ".b2frame";
      try {
        directory_->rename(made, name, frame::RenameMode::no_replace);
        return name;
      } catch (const std::system_error& error) {
        if (error.code() != std::errc::file_exists || number >= kMostDatedNames) throw;
      }
    }
  }

  const std::string shown_, folder_, shown_name_;
  std::shared_ptr<frame::StoreDirectory> directory_;
};

}  // namespace

std::unique_ptr<Refuge> ObjectTakeover::conflict_refuge(ShownAs, uid_t) {
  return std::make_unique<FrameBeside>(objects_, objects_.stored(node_), suffix_);
}

std::unique_ptr<Refuge> ObjectTakeover::recovery_refuge(ShownAs, uid_t) {
  if (refuge_.empty()) frame::throw_errno(ENOENT, "no disk_cache to keep it in");
  return std::make_unique<FrameInFolder>(objects_.stored(node_), refuge_);
}

Takeover::Following ObjectTakeover::follow(const MakeReady& make_ready) {
  static_cast<void>(make_ready(nullptr));
  objects_.given_up(node_);
  return {nullptr, false, true};
}

}  // namespace bloscfs::fs
