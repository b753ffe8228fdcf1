#pragma once
// Records what a daemon does to the files and directories of its SOURCE, for a replay in memory.

#include <memory>
#include <string>
#include <vector>

#include "tests/frame/memory_store.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

struct RecordedStep {
  std::size_t end;  ///< size of the record up to the end of this step
  frame::test::StoreOperation operation;
};

class StoreRecording {
 public:
  /// The recording starts from the current state of `source`.
  explicit StoreRecording(const fs_std::path& source);

  /// Variables that the daemon's environment needs, as NAME=value.
  std::vector<std::string> environment() const;
  /// Bytes recorded so far. They include everything that finished requests have caused.
  std::size_t size() const;

  const frame::test::MemoryDisk& before() const { return *before_; }
  std::vector<RecordedStep> steps() const;

 private:
  void scan(const fs_std::path& directory, std::uint64_t node);

  const TempDir home_;
  const std::shared_ptr<frame::test::MemoryDisk> before_;
  std::map<std::uint64_t, std::uint64_t> nodes_;  ///< by inode number
};

}  // namespace bloscfs::test
