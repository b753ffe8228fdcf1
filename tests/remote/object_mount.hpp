#pragma once
// Places in the object store of the tests, mounted, and looked at past all mounts.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frame/remote/s3_tree.hpp"
#include "tests/support/mount.hpp"

namespace bloscfs::test {

/// What stands before the keys of files, in a bucket of its own.
class StorePlace {
 public:
  StorePlace();

  /// "s3://BUCKET/PREFIX".
  std::string source() const { return "s3://" + bucket_ + "/" + prefix_; }
  /// Those of a mount; `endpoint` is the store's own where it is empty.
  MountSettings settings(const std::vector<std::string>& options,
                         const std::string& endpoint = {}) const;
  /// Of all keys below the prefix, without the prefix.
  std::map<std::string, frame::ListedState> objects() const;
  /// Of one object, with its metadata.
  frame::ObjectState state(const std::string& path) const;
  std::string contents(const std::string& path) const;
  /// All files below a directory, by their paths, past what a mount does.
  void upload(const fs_std::path& from) const;
  /// What a plain copy of the prefix gives.
  void download(const fs_std::path& to) const;
  frame::ObjectTree& tree() const { return *tree_; }
  std::vector<std::string> environment() const;

 private:
  void add_objects(const std::string& directory,
                   std::map<std::string, frame::ListedState>& found) const;

  const std::string bucket_, prefix_ = "some/place";
  std::shared_ptr<frame::S3Tree> tree_;
};

/// A place as one host has it mounted for writing.
class ObjectMount : public Mount {
 public:
  explicit ObjectMount(const StorePlace& place, const std::vector<std::string>& options = {},
                       const std::string& endpoint = {});
};

/// What a program writes, at an offset, through a descriptor of its own; 0, or the errno of the
/// first call that fails: open, write, fsync where it is wanted, close.
int errno_of_writing(const fs_std::path& path, std::int64_t offset, std::string_view text,
                     int flags = 0, bool syncs = true);
/// 0, or the errno.
int errno_of_syncing(const fs_std::path& path);

std::string file_text(const fs_std::path& path);
/// Text that does not compress.
std::string noise(std::uint64_t seed, std::size_t size);
/// Of the shown names those of what was kept beside a file.
std::vector<std::string> conflicts_in(const fs_std::path& directory);

}  // namespace bloscfs::test
