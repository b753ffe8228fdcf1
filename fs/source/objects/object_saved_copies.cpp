// Saved copies of contents that cannot be stored in their own place.

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
#include "fs/source/objects/object_home.hpp"
#include "fs/support/relative_path.hpp"

namespace bloscfs::fs {
namespace {

/// Returns this host's name for use in a file name: only letters, digits, '-', '.' and '_', and at
/// most 64 characters.
std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "host";
  std::string host(name);
  std::replace_if(
      host.begin(), host.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.'; }, '_');
  return host.substr(0, 64);
}

/// A conflict file, next to the frame that another host has committed.
class ConflictFile final : public SavedCopy {
 public:
  ConflictFile(Objects& objects, const ObjectNode& node, const std::string& suffix)
      : objects_(objects),
        path_(node.path),
        directory_(parent_of(node.path)),
        shown_name_(node.name_shown()),
        suffix_(suffix) {
    take_another_name();
  }

  std::string path() const override { return path_; }
  std::shared_ptr<frame::StoreDirectory> directory() const override {
    return objects_.frames().directory(directory_);
  }
  std::optional<std::string> shared_name() const override { return name_; }
  bool take_another_name() final {
    const std::string what = "conflict-" + host_name();
    name_ = dated_name(shown_name_, what, std::time(nullptr), ++number_) + suffix_;
    return number_ < kMostDatedNames;
  }
  /// The frame has its final name from the start, and is durable as soon as it is complete.
  std::string keep(const StoredFrame&, const frame::FrameWriter*, Loss) override {
    objects_.forget_listing(directory_);
    return path_in(directory_, name_);
  }

 private:
  Objects& objects_;
  const std::string path_, directory_, shown_name_, suffix_;
  int number_ = 0;
  std::string name_;
};

/// A frame in a local folder, with contents that could not be sent to the object store.
class FrameInFolder final : public SavedCopy {
 public:
  FrameInFolder(const ObjectNode& node, std::string folder)
      : shown_(node.path), folder_(std::move(folder)), shown_name_(node.name_shown()) {
    frame::UniqueFd opened(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened) frame::throw_errno(folder_);
    directory_ = frame::make_local_store(std::move(opened), nullptr);
  }

  std::string path() const override { return shown_; }
  std::shared_ptr<frame::StoreDirectory> directory() const override { return directory_; }
  std::string keep(const StoredFrame& made, const frame::FrameWriter*, Loss) override {
    const std::string name = rename_to_free(made.name);
    directory_->sync_name(name);
    return folder_ + "/" + name;
  }

 private:
  /// Tries numbered names, because several files or mounts may want the same name: files of one
  /// name in several directories, and mounts that share the folder.
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

std::unique_ptr<SavedCopy> ObjectHome::saved_copy(Request&, SavedCopyKind kind, ShownAs, uid_t) {
  if (kind == SavedCopyKind::rescue) return nullptr;
  const ObjectNode node = services_.nodes.get(node_);
  if (kind == SavedCopyKind::conflict)
    return std::make_unique<ConflictFile>(services_.objects, node, services_.suffix);
  if (services_.rescue_folder.empty())
    frame::throw_errno(ENOENT, "cannot keep the changes: the mount has no disk_cache");
  return std::make_unique<FrameInFolder>(node, services_.rescue_folder);
}

}  // namespace bloscfs::fs
