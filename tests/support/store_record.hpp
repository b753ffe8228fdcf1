#pragma once
// What store_recorder writes of a daemon: one record for each change that it makes to its store.

#include <cstdint>

namespace bloscfs::test {

enum class StoreCall : std::uint8_t {
  write,
  truncate,
  punch,
  sync_file,
  create,
  link,
  rename,
  exchange,
  unlink,
  make_directory,
  sync_directory,
  sync_all,
};

/// Followed by the name, the other name, and the bytes that were written. Files and directories are
/// told by their inode numbers.
struct StoreRecord {
  std::uint64_t node;        ///< the file, or the directory that is changed
  std::uint64_t other_node;  ///< directory of the other name
  std::uint64_t target;      ///< what has the name: before a removal, after a creation
  std::uint64_t exchanged;   ///< what has the other name before an exchange
  std::uint64_t offset;
  std::uint64_t size;  ///< of a truncated file or a hole
  std::uint64_t byte_count;
  std::uint16_t name_size;
  std::uint16_t other_name_size;
  StoreCall call;
};

/// Names the file that records are appended to.
inline constexpr const char* kRecordVariable = "BLOSCFS_STORE_RECORD";

}  // namespace bloscfs::test
