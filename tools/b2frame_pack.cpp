// b2frame pack and unpack: the directory of a store to a ZIP file, and back.

#include <cerrno>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/pystore/store_packing.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/mount/ended_mounts.hpp"
#include "fs/mount/wait_notice.hpp"
#include "fs/source/mount_lock.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"
#include "tools/interrupt.hpp"
#include "tools/output_file.hpp"
#include "tools/progress.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

namespace filesystem = std::filesystem;

/// A new name in the directory of `path`, which is taken back unless publish() was reached.
class NewName {
 public:
  /// Throws FileError, which names the output as it was given.
  explicit NewName(const std::string& path) : shown_(path) {
    std::string followed = follow_symlink(path);
    while (followed.size() > 1 && followed.ends_with('/')) followed.pop_back();
    const std::size_t start = followed.rfind('/') + 1;
    name_ = followed.substr(start);
    if (name_.empty() || path == "-") throw UsageError("OUT needs the name of a file");
    directory_path_ = start == 0 ? "./" : followed.substr(0, start);
    blamed([&] { directory_ = frame::make_local_store(open_directory(directory_path_), nullptr); });
  }
  ~NewName() {
    std::error_code ignored;
    if (!temporary_.empty()) filesystem::remove_all(directory_path_ + temporary_, ignored);
  }
  NewName(const NewName&) = delete;
  NewName& operator=(const NewName&) = delete;

  /// Runs `work`, and has what it throws name the output.
  template <typename Work>
  void blamed(const Work& work) const {
    try {
      work();
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      throw FileError(shown_, reason(error));
    }
  }

  frame::StoreDirectory& directory() { return *directory_; }
  const std::string& name() const { return name_; }
  /// The status of what has the name.
  std::optional<struct stat> status() const {
    struct stat st {};
    if (::fstatat(directory_->descriptor(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0)
      return st;
    if (errno != ENOENT) frame::throw_errno();
    return std::nullopt;
  }
  const std::string& take_temporary() { return temporary_ = frame::temporary_name(); }
  void set_mode(mode_t mode) const {
    if (::fchmodat(directory_->descriptor(), temporary_.c_str(), mode, 0) != 0)
      frame::throw_errno();
  }
  void publish(frame::RenameMode mode) {
    directory_->rename(temporary_, name_, mode);
    temporary_.clear();
    directory_->sync_name(name_);
  }

 private:
  std::string shown_;
  std::string directory_path_;
  std::string name_;
  std::shared_ptr<frame::StoreDirectory> directory_;
  std::string temporary_;
};

/// Draws the bar from the first call on, which tells how much there is.
frame::CopyProgress shown_progress(const char* label, std::optional<Progress>& bar) {
  return [label, &bar](std::uint64_t done, std::uint64_t total) {
    throw_if_interrupted();
    if (!bar) bar.emplace(label, static_cast<std::int64_t>(total));
    bar->update(static_cast<std::int64_t>(done));
  };
}

int pack(const PackOptions& options) {
  const frame::UniqueFd source = open_directory(options.input);
  static_cast<void>(open_store(options.input));  // throws unless it is one
  NewName out(options.output);
  std::shared_ptr<frame::StoreFile> file;
  std::optional<fs::MountLock> output_lock;
  out.blamed([&] {
    const auto there = out.status();
    if (there && !S_ISREG(there->st_mode)) throw std::runtime_error("is no regular file");
    if (there)
      output_lock.emplace(out.directory().descriptor(), out.name(), fs::kMountLockPatience,
                          fs::WaitNotice(options.output));
    file = out.directory().create(out.take_temporary(), 0666);
    if (there) out.set_mode(there->st_mode & mode_t{0777});
  });
  std::optional<Progress> bar;
  frame::pack_store(source, *file, shown_progress("pack", bar));
  out.blamed([&] {
    file->sync();
    out.publish(frame::RenameMode::replace);
  });
  return 0;
}

int unpack(const PackOptions& options) {
  fs::wait_for_ended_mounts(options.input);
  const frame::UniqueFd place(::open(options.input.c_str(), O_PATH | O_CLOEXEC));
  if (!place) frame::throw_errno();
  frame::UniqueFd fd = frame::open_if_regular(place, O_RDONLY);
  if (!fd) throw std::runtime_error("is no regular file");
  NewName out(options.output);
  std::shared_ptr<frame::StoreDirectory> directory;
  out.blamed([&] {
    if (out.status()) frame::throw_errno(EEXIST);
    const std::string& temporary = out.take_temporary();
    out.directory().make_directory(temporary, 0777);
    directory = out.directory().open_directory(temporary);
  });
  std::optional<Progress> bar;
  frame::unpack_store(std::make_shared<frame::FileSource>(std::move(fd), nullptr), directory,
                      shown_progress("unpack", bar));
  out.blamed([&] {
    if (::syncfs(directory->descriptor()) != 0) frame::throw_errno();
    out.publish(frame::RenameMode::no_replace);
  });
  return 0;
}

}  // namespace

int run_pack(const PackOptions& options) {
  note_interrupts();
  return guarded(options.input, [&] { return pack(options); });
}

int run_unpack(const PackOptions& options) {
  note_interrupts();
  return guarded(options.input, [&] { return unpack(options); });
}

}  // namespace bloscfs::tools
