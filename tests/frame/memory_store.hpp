#pragma once
// A disk in memory. It records every operation, can fail at one of them, and can be examined in the
// state that a power cut leaves.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "frame/store/byte_store.hpp"
#include "tests/frame/frame_builder.hpp"

namespace bloscfs::frame::test {

struct StoreOperation {
  enum class Kind {
    write,
    truncate,
    punch,
    sync_file,
    attributes,
    create,
    link,
    rename,
    exchange,
    unlink,
    make_directory,
    sync_directory,
    sync_all,
  };
  Kind kind;
  std::uint64_t node = 0;  ///< the file, or the directory that is changed
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  Buffer bytes;
  std::string name, to;
  std::uint64_t to_node = 0;  ///< directory of `to`
  std::uint64_t target = 0;   ///< the file that is created, linked, renamed or unlinked
  std::uint64_t other = 0;    ///< the file that `target` is exchanged with
};

struct MemoryNode {
  Buffer bytes;
  FileAttributes attributes;
  std::uint64_t links = 1;
  std::int64_t mtime_ns = 0;
  bool is_directory = false;
  std::map<std::string, std::uint64_t> entries;
};

class MemoryDisk : public std::enable_shared_from_this<MemoryDisk> {
 public:
  static constexpr std::uint64_t kRoot = 1;

  static std::shared_ptr<MemoryDisk> make();
  std::shared_ptr<StoreDirectory> root();
  void put(const std::string& name, Buffer bytes);
  /// Returns the bytes of a file. `path` has at most one slash.
  const Buffer& bytes(const std::string& path) const;
  bool exists(const std::string& path) const;
  std::vector<std::string> names() const;
  /// Returns how many bytes were written since the log was cleared.
  std::uint64_t bytes_written() const;

  /// Applies an operation and logs it.
  void perform(StoreOperation operation);
  std::uint64_t add_node(MemoryNode node);
  std::uint64_t find(std::uint64_t directory, const std::string& name) const;

  /// Applies an operation. Ignores names and files that do not exist (any more, or yet).
  void apply(const StoreOperation& operation);
  std::shared_ptr<MemoryDisk> clone() const;

  std::vector<StoreOperation> log;
  /// Called before each operation; may throw.
  std::function<void(const StoreOperation&)> before_each = [](const StoreOperation&) {};
  bool sole_user = true;
  std::map<std::uint64_t, MemoryNode> nodes;

 private:
  std::uint64_t next_node_ = kRoot + 1;
  std::int64_t clock_ = 0;
};

/// Makes the disk fail with `error` at operation `number` and all later ones. Number 0 is the next
/// operation.
void fail_from(MemoryDisk& disk, std::size_t number, int error);
/// Makes the disk fail at that operation only.
void fail_at(MemoryDisk& disk, std::size_t number, int error);
void stop_failing(MemoryDisk& disk);

}  // namespace bloscfs::frame::test
