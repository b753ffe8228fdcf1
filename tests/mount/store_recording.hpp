#pragma once
// What a daemon did to the files and directories of its SOURCE, to be done again in memory.

#include <memory>
#include <string>
#include <vector>

#include "tests/frame/memory_store.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

struct RecordedStep {
  std::size_t end;  ///< bytes of the record up to here
  frame::test::StoreOperation operation;
};

class StoreRecording {
 public:
  /// `source` as it is now is what the record starts from.
  explicit StoreRecording(const fs_std::path& source);

  /// What the daemon's environment needs: NAME=value.
  std::vector<std::string> environment() const;
  /// Bytes recorded so far. Whatever a finished request caused is among them.
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
