#pragma once
// What a mount of a disk in memory would show.

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "frame/snapshot.hpp"
#include "tests/frame/memory_store.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// Stands for the bytes of a file.
struct Fingerprint {
  std::size_t size = 0, hash = 0;
  bool operator==(const Fingerprint&) const = default;
};
Fingerprint fingerprint(const ByteVector& bytes);

/// Files by their paths.
using ShownTree = std::map<std::string, Fingerprint>;

/// Reads trees of which most is as it was in the one before.
class TreeReader {
 public:
  /// Throws, with the path in the message, when a frame cannot be read.
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
