#pragma once
// The tree that a mount of a disk in memory would show.

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "frame/container/snapshot.hpp"
#include "tests/frame/memory_store.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// Identifies the bytes of a file.
struct Fingerprint {
  std::size_t size = 0, hash = 0;
  bool operator==(const Fingerprint&) const = default;
};
Fingerprint fingerprint(const ByteVector& bytes);

struct ShownEntry {
  std::uint64_t directory = 0;  ///< its node on the disk; 0 for a file
  Fingerprint contents = {};
};

/// The entries of all reachable directories, by the nodes of the directories.
using ShownTree = std::map<std::uint64_t, std::map<std::string, ShownEntry>>;

/// Returns files and directories by path. Paths of directories end in a slash.
std::map<std::string, Fingerprint> by_path(const ShownTree& tree);

/// Reads trees that differ only a little from the previous one.
class TreeReader {
 public:
  /// Throws if a frame cannot be read. The message has its path.
  ShownTree read(const std::shared_ptr<frame::test::MemoryDisk>& disk);

 private:
  struct Shown {
    bool is_array;
    Fingerprint contents;
  };
  void read_directory(const std::shared_ptr<frame::StoreDirectory>& directory, std::uint64_t node,
                      const std::string& path, ShownTree& tree);
  Shown shown(frame::StoreDirectory& directory, const std::string& name, std::uint64_t node);
  std::size_t hash_of(std::uint64_t node) const;

  std::shared_ptr<frame::test::MemoryDisk> disk_;
  std::map<std::size_t, Shown> known_;  ///< by a hash of the stored bytes
};

}  // namespace bloscfs::test
