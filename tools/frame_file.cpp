#include "tools/frame_file.hpp"

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include "codec/error.hpp"
#include "frame/open/open.hpp"
#include "frame/open/open_writer.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/mount/ended_mounts.hpp"
#include "tools/interrupt.hpp"
#include "tools/mounted_path.hpp"
#include "tools/output_file.hpp"
#include "tools/output_name.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

/// Maximum number of attempts, if other programs change the frame during each edit.
constexpr int kTries = 100;
/// Maximum number of tidying commits after an edit, which make the frame shorter. Moving chunks
/// takes at most three commits, and one more commit cuts the file.
constexpr int kMostTidyingCommits = 5;

std::unique_ptr<frame::FrameWriter> open_writer(const std::string& path) {
  const auto snapshot = frame::open_path(path, {});
  if (!snapshot) frame::throw_errno(ESTALE, "replaced by another program");
  const frame::FrameInfo& info = snapshot->info();
  if (info.is_read_only())
    codec::throw_unsupported(std::string("a file of kind ") + info.kind_name() +
                             ", which cannot be changed in place");
  const std::filesystem::path real = std::filesystem::canonical(path);
  const auto directory = frame::make_local_store(open_directory(real.parent_path()), nullptr);
  frame::WriterSettings settings;
  settings.new_file_to_shrink = true;
  return frame::open_writer(directory, real.filename(), info.is_directory(), settings);
}

/// Watches the directory of a sparse frame, whose new index is a temporary in it. An interrupt then
/// removes the temporary.
struct SparseFrame {
  explicit SparseFrame(const std::string& path)
      : directory(open_directory(path)), watched(directory.get()) {}
  frame::UniqueFd directory;
  WatchedDirectory watched;
};

void edit_and_tidy(frame::FrameWriter& writer,
                   const std::function<void(frame::FrameWriter&)>& edit) {
  edit(writer);
  try {
    for (int commits = 0; commits < kMostTidyingCommits && writer.is_oversized(); commits++)
      writer.tidy();
  } catch (const std::system_error&) {
    // The edit is stored, and only the frame is longer than needed. A later edit can make it
    // shorter.
  }
}

}  // namespace

void edit_frame(const std::string& name, const std::function<void(frame::FrameWriter&)>& edit) {
  const std::string path = parse_store_address(name) ? file_of_frame(name) : name;
  fs::wait_for_ended_mounts(path);
  commit_mounts_of(path);
  for (int tries = 1;; tries++) {
    try {
      // Before the lock is taken: refuse_no_frame() waits until nobody has the file locked, and the
      // user may be allowed neither to read nor to lock it.
      if (!frame::open_path(path, {})) refuse_no_frame(path);
      // Resolves the path each time, because another program may have given the name to another
      // file.
      const std::filesystem::path real = std::filesystem::canonical(path);
      const frame::UniqueFd directory = open_directory(real.parent_path());
      const WatchedDirectory watched(directory.get());
      std::optional<SparseFrame> sparse;
      if (std::filesystem::is_directory(real)) sparse.emplace(real);
      const WatchedLock lock(directory.get(), real.filename(), path);
      // The open descriptor of the lock would count as a reader, and delay the reuse of its space.
      lock->release_source();
      return edit_and_tidy(*open_writer(path), edit);
    } catch (const std::system_error& error) {
      if (error.code() != std::errc(ESTALE) || tries == kTries) throw;
    }
  }
}

}  // namespace bloscfs::tools
