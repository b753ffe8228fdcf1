#pragma once
// Checks that a mount shows the reference files as their manifest says.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/manifest.hpp"
#include "tests/support/subprocess.hpp"

namespace bloscfs::test {

/// One text for each failed check.
using Failures = std::vector<std::string>;

/// The time limit for checking one entry that lies on a local disk.
inline constexpr Seconds kEntryLimit{5};

/// A directory that holds each entry's container in its own subdirectory, slot(i). Their names
/// therefore never collide.
class CorpusTree {
 public:
  /// Copies the containers of `corpus` below `root`, which must exist.
  CorpusTree(const fs_std::path& corpus, fs_std::path root);
  const fs_std::path& root() const { return root_; }
  const std::vector<CorpusEntry>& entries() const { return entries_; }
  std::string slot(std::size_t i) const { return std::to_string(i); }

 private:
  fs_std::path root_;
  std::vector<CorpusEntry> entries_;
};

/// Returns the path of the only entry of a directory. Throws std::runtime_error unless the
/// directory has exactly one entry.
fs_std::path only_entry(const fs_std::path& directory);

/// Reads `size` bytes from `offset` on, or fewer if the file ends before.
ByteVector read_range(const fs_std::path& path, std::uint64_t offset, std::size_t size);

/// True if reading the file or listing its attributes fails with an error that damage causes: EIO,
/// EOPNOTSUPP or EFBIG. Also true if the file is too large to be read in full.
bool reading_fails(const fs_std::path& path);

/// Checks the only file in `directory` against the entry's expectation. The failures start with the
/// entry's name; exceptions and a check that takes longer than `limit` are failures, too. `raw`
/// says whether the mount has the option `raw`.
Failures check_entry(const CorpusEntry& entry, const fs_std::path& directory, bool raw,
                     Seconds limit = kEntryLimit);

}  // namespace bloscfs::test
