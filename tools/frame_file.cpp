#include "tools/frame_file.hpp"

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include "codec/error.hpp"
#include "frame/open/open.hpp"
#include "frame/open/open_writer.hpp"
#include "frame/store/local_store.hpp"
#include "fs/mount/ended_mounts.hpp"
#include "tools/interrupt.hpp"
#include "tools/output_file.hpp"
#include "tools/output_name.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

/// How often others may change a frame under an edit.
constexpr int kTries = 100;
/// Moving chunks takes three commits at most, and the last one is followed by a cut.
constexpr int kMostTidyingCommits = 5;

std::unique_ptr<frame::FrameWriter> open_writer(const std::string& path) {
  const auto snapshot = frame::open_path(path, {});
  if (!snapshot) refuse_no_frame(path);
  const frame::FrameInfo& info = snapshot->info();
  if (info.is_read_only())
    codec::throw_unsupported(std::string("a file of kind ") + info.kind_name() +
                             ", which cannot be changed in place");
  const std::filesystem::path real = std::filesystem::canonical(path);
  const auto directory = frame::make_local_store(open_directory(real.parent_path()), nullptr);
  frame::WriterSettings settings;
  settings.anew_beside_readers = true;
  return frame::open_writer(directory, real.filename(), info.is_directory(), settings);
}

/// Its new index is a temporary among its files.
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
    // The edit is stored. The next one makes the frame shorter.
  }
}

}  // namespace

void edit_frame(const std::string& path, const std::function<void(frame::FrameWriter&)>& edit) {
  fs::wait_for_ended_mounts(path);
  for (int tries = 1;; tries++) {
    try {
      // Another file may be there by now.
      const std::filesystem::path real = std::filesystem::canonical(path);
      const frame::UniqueFd directory = open_directory(real.parent_path());
      const WatchedDirectory watched(directory.get());
      std::optional<SparseFrame> sparse;
      if (std::filesystem::is_directory(real)) sparse.emplace(real);
      const WatchedLock lock(directory.get(), real.filename(), path);
      lock->release_source();
      return edit_and_tidy(*open_writer(path), edit);
    } catch (const std::system_error& error) {
      if (error.code() != std::errc(ESTALE) || tries == kTries) throw;
    }
  }
}

}  // namespace bloscfs::tools
