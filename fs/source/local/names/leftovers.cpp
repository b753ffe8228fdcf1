#include "fs/source/local/names/leftovers.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "frame/store/sframe_names.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/naming.hpp"
#include "fs/support/log.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {
namespace {

/// The directory of a sparse frame that is to be removed.
class RemovedFrame {
 public:
  RemovedFrame(frame::SharedFd directory, const std::string& name)
      : files_(std::move(directory), name), name_(name) {}

  void remove() const {
    Request request;
    const Change change(request);
    // The rename to `name_` must be durable first. After a power cut the frame must not reappear
    // under its old name with files missing.
    in_parent([](const SourceDirectory& parent) { parent.sync(); });
    bool is_shared = false;
    for (const SourceRoot::Entry& entry : SourceRoot(files_.open(".", O_PATH)).list({})) {
      const auto st = files_.stat(entry.name);
      const bool has_name =
          frame::is_sframe_file(entry.name) || frame::is_temporary_name(entry.name);
      if (st && S_ISREG(st->st_mode) && has_name)
        files_.remove_file(change, entry.name);
      else
        is_shared |= st.has_value();
    }
    if (is_shared) throw std::runtime_error("its directory has other files; remove them in SOURCE");
    in_parent([&](const SourceDirectory& parent) { parent.remove_directory(change, name_); });
  }

 private:
  /// Calls `work` with the parent directory if this directory still has `name_` there. A removal by
  /// name alone could hit a directory that another program has put there.
  template <typename Work>
  void in_parent(const Work& work) const {
    const auto identity = frame::identity_at(files_.descriptor(), {});
    // When the mount removes the parent directory, it first moves this directory to SOURCE itself.
    // That may happen at any moment, but only once, so one retry is enough.
    for (const bool is_last : {false, true}) {
      const SourceDirectory parent(files_.open("..", O_PATH | O_DIRECTORY), {});
      try {
        if (frame::identity_at(parent.descriptor(), name_) == identity) return work(parent);
      } catch (const std::system_error& error) {
        if (is_last || error.code() != std::errc::no_such_file_or_directory) throw;
      }
    }
    throw std::runtime_error("another program has renamed or replaced its directory");
  }

  const SourceDirectory files_;
  const std::string name_;
};

}  // namespace

bool is_leftover_name(const std::string& name) {
  const auto locked = locked_name(name);
  return is_temporary(name) || (locked && is_temporary(*locked));
}

std::optional<Leftover> made_by(const TemporaryMakers& makers, const SourceDirectory& directory,
                                const std::string& name, const struct stat& st) {
  const bool is_file = S_ISREG(st.st_mode) && st.st_nlink == 1;
  if (!is_file && !S_ISDIR(st.st_mode)) return std::nullopt;
  const std::string_view temporary = locked_name(name).value_or(name);
  // For a file, a name that a maker has made is proof enough. A user who could give that name to
  // another file could have removed that file.
  if (is_file && std::any_of(makers.begin(), makers.end(),
                             [&](const auto& maker) { return maker.has_made(temporary); }))
    return Leftover{name, nullptr};
  frame::UniqueFd object(
      ::openat(directory.descriptor(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!object) return std::nullopt;
  // A displaced name contains a hash of the identity of the object that was moved there. So the
  // name counts for that object only (frame/store/temporary_name.hpp).
  const auto identity = frame::identity_at(object.get(), {}).value();
  const auto maker = std::find_if(makers.begin(), makers.end(), [&](const auto& one) {
    return one.has_displaced(name, identity);
  });
  if (maker == makers.end()) return std::nullopt;
  if (is_file) return Leftover{name, nullptr};
  return Leftover{name, std::make_shared<const frame::UniqueFd>(std::move(object)),
                  *maker == frame::TemporaryMaker::self()};
}

std::shared_ptr<void> remove_on_release(frame::SharedFd directory, const std::string& name,
                                        const std::string& path) {
  return {nullptr, [frame = RemovedFrame(std::move(directory), name), path](void*) {
            try {
              frame.remove();
            } catch (const std::exception& error) {
              log::warn(fmt::format("{}: cannot remove all files of the removed sparse frame: {}",
                                    path, error.what()));
            }
          }};
}

}  // namespace bloscfs::fs
