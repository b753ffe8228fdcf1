#pragma once
// Whether a mount shows reference files as their manifest says.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/manifest.hpp"
#include "tests/support/subprocess.hpp"

namespace bloscfs::test {

/// What is wrong, in words.
using Failures = std::vector<std::string>;

/// What an entry may take where it is at hand.
inline constexpr Seconds kEntryLimit{5};

/// A directory with each entry's container in a directory of its own, so that names never collide.
class CorpusTree {
 public:
  /// Copies them below `root`, which is there.
  CorpusTree(const fs_std::path& corpus, fs_std::path root);
  const fs_std::path& root() const { return root_; }
  const std::vector<CorpusEntry>& entries() const { return entries_; }
  std::string slot(std::size_t i) const { return std::to_string(i); }

 private:
  fs_std::path root_;
  std::vector<CorpusEntry> entries_;
};

/// The only name in a directory of a mount.
fs_std::path only_entry(const fs_std::path& directory);

/// At most `size` bytes from `offset` on; shorter at the end of the file.
ByteVector read_range(const fs_std::path& path, std::uint64_t offset, std::size_t size);

/// Whether reading or describing gives an error that damage gives.
bool reading_fails(const fs_std::path& path);

/// Runs the check that the entry's expectation asks for, of what is in `directory`; with its name
/// and exceptions, and whether it took longer than `limit`. `raw`: the mount has that option.
Failures check_entry(const CorpusEntry& entry, const fs_std::path& directory, bool raw,
                     Seconds limit = kEntryLimit);

}  // namespace bloscfs::test
