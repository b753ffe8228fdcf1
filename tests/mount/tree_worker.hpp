#pragma once
// Random work in a mount, and a history of it.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/mount/store_recording.hpp"
#include "tests/mount/tree_history.hpp"
#include "tests/support/draw.hpp"
#include "tests/support/fd.hpp"

namespace bloscfs::test {

/// Applies each operation to a mount and to its history.
class TreeWorker {
 public:
  TreeWorker(fs_std::path mount, const StoreRecording& recording, TreeHistory& history,
             std::uint64_t seed)
      : mount_(std::move(mount)), recording_(recording), history_(history), random_(seed) {}

  /// Adds the sparse frame that the root of SOURCE has from the start.
  void adopt_sparse(const std::string& name, const ByteVector& contents);
  void work(int operations);

 private:
  using Object = TreeHistory::Object;
  using Entry = TreeHistory::Entry;
  static constexpr Object kNone = TreeHistory::kNone;

  fs_std::path path(const Entry& entry) const;
  fs_std::path directory_path(Object directory) const;
  bool is_within(Object directory, Object other) const;
  std::vector<Entry> some_entries(bool directories) const;
  std::optional<Entry> any(bool is_directory);
  Object any_directory();
  Entry any_name();
  ByteVector some_bytes(int largest);
  ByteVector first_contents();
  /// True if the file's representation must not change, because it has several names, all with
  /// ".npy".
  bool is_bound(Object file) const;

  template <typename Fill>
  void create_and(Fill fill);
  void create();
  void create_large();
  void overwrite();
  void append();
  void resize();
  void resize(const Fd& fd, Object file, std::size_t size);
  void punch();
  void sync_file();
  void link();
  void rename();
  void exchange();
  void unlink();
  void make_directory();
  void remove_directory();
  void move_directory();
  void sync_directory();

  template <typename Act>
  void change(Act act);
  void write(const Fd& fd, Object file, std::size_t offset, const ByteVector& bytes);
  void sync(const Fd& fd, Object file);
  void sync(Object directory);
  void exchange(const Entry& one, const Entry& other);
  void unlink(const Entry& entry);

  const fs_std::path mount_;
  const StoreRecording& recording_;
  TreeHistory& history_;
  Random random_;
  std::map<Object, ByteVector> contents_;
  Object sparse_ = kNone;
};

}  // namespace bloscfs::test
