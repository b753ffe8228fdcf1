#pragma once
// The records that store_recorder writes: one for each change that a daemon makes to its store.

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

/// The fixed part of a record. The name, the other name and the written bytes follow it. Inode
/// numbers identify files and directories.
struct StoreRecord {
  std::uint64_t node;        ///< the changed file, or the changed directory of the name
  std::uint64_t other_node;  ///< the directory of the other name
  std::uint64_t target;      ///< the object of the name: before a removal, after a creation
  std::uint64_t exchanged;   ///< the object of the other name before a rename or exchange
  std::uint64_t offset;
  std::uint64_t size;  ///< of a truncated file or a hole
  std::uint64_t byte_count;
  std::uint16_t name_size;
  std::uint16_t other_name_size;
  StoreCall call;
};

/// The environment variable with the path of the file to which records are appended.
inline constexpr const char* kRecordVariable = "BLOSCFS_STORE_RECORD";

}  // namespace bloscfs::test
