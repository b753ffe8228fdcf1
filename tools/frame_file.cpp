#include "tools/frame_file.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>

#include "codec/error.hpp"
#include "frame/local_store.hpp"
#include "frame/open.hpp"
#include "tools/ended_mounts.hpp"

namespace bloscfs::tools {
namespace {

/// The path, once mounts of directories above it are done, too.
const std::string& settled(const std::string& path) {
  wait_for_ended_mounts(path);
  return path;
}

std::unique_ptr<frame::FrameWriter> open_writer(const std::string& path) {
  const auto snapshot = frame::open_path(path, {});
  if (!snapshot) codec::throw_malformed("no Blosc2 frame");
  const std::filesystem::path real = std::filesystem::canonical(path);
  frame::UniqueFd fd(::open(real.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) throw std::system_error(errno, std::generic_category());
  auto directory = frame::make_local_store(std::move(fd), nullptr);
  switch (snapshot->info().kind) {
    case frame::ContainerKind::cframe:
      return frame::open_cframe_writer(std::move(directory), real.filename(), {});
    case frame::ContainerKind::sframe:
      return frame::open_sframe_writer(directory, real.filename(), {});
    case frame::ContainerKind::bloscpack:
      break;
  }
  codec::throw_unsupported("a Bloscpack file, which cannot be changed in place");
}

}  // namespace

FrameFile::FrameFile(const std::string& path)
    : lock_(settled(path), fs::kMountLockPatience), writer_(open_writer(path)) {}

}  // namespace bloscfs::tools
