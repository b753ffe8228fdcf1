#include "fs/mount/written_files.hpp"

#include <exception>
#include <stdexcept>

#include <fmt/core.h>

#include "fs/support/log.hpp"

namespace bloscfs::fs {

void keep_uncommitted(const std::vector<Committer::Uncommitted>& left) {
  for (const auto& [content, failure] : left) {
    std::string name, fate;
    try {
      name = content->path();
      const auto kept = content->keep_for_recovery();
      fate = kept ? "kept as " + kept->path : "attributes lost";
      if (kept && !kept->is_whole) fate += ", with zeros for what could not be read";
    } catch (const std::exception& error) {
      fate =
          fmt::format("contents lost, {} bytes ({})", content->uncommitted_bytes(), error.what());
    }
    log::error(fmt::format("{}: not committed ({}): {}", name, failure.message(), fate));
  }
  if (!left.empty())
    throw std::runtime_error(fmt::format("not committed before the end: {} files", left.size()));
}

std::vector<MountedFiles::Uncommitted> look_at_uncommitted(
    const std::vector<Committer::Uncommitted>& left) {
  std::vector<MountedFiles::Uncommitted> described;
  described.reserve(left.size());
  for (const auto& [content, failure] : left)
    described.push_back({content->path(), content->uncommitted_bytes(), failure});
  return described;
}

}  // namespace bloscfs::fs
