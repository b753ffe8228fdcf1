#pragma once
// Gives tests a place in the object store: mounts of it, and direct access without a mount.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frame/remote/s3_tree.hpp"
#include "tests/support/mount.hpp"

namespace bloscfs::test {

/// A bucket with a prefix, which a test can mount. Each object makes a new bucket.
class StorePlace {
 public:
  StorePlace();

  /// Returns "s3://BUCKET/PREFIX".
  std::string source() const { return "s3://" + bucket_ + "/" + prefix_; }
  /// Returns the settings of a writable mount. If `endpoint` is empty, it is that of shared_rgw().
  MountSettings settings(const std::vector<std::string>& options,
                         const std::string& endpoint = {}) const;
  /// Lists all objects below the prefix, by their paths without the prefix.
  std::map<std::string, frame::ListedState> objects() const;
  /// Returns the state of one object, with its metadata.
  frame::ObjectState state(const std::string& path) const;
  std::string contents(const std::string& path) const;
  /// Copies all files below a local directory into the store, as a copying tool does.
  void upload(const fs_std::path& from) const;
  /// Copies all objects below the prefix to a local directory.
  void download(const fs_std::path& to) const;
  frame::ObjectTree& tree() const { return *tree_; }
  std::vector<std::string> environment() const;

 private:
  void add_objects(const std::string& directory,
                   std::map<std::string, frame::ListedState>& found) const;

  const std::string bucket_, prefix_ = "some/place";
  std::shared_ptr<frame::S3Tree> tree_;
};

/// A writable mount of a place, as one host has it.
class ObjectMount : public Mount {
 public:
  explicit ObjectMount(const StorePlace& place, const std::vector<std::string>& options = {},
                       const std::string& endpoint = {});
};

/// Opens the file, writes `text` at `offset`, calls fsync() if `syncs`, and closes the file.
/// Returns the errno of the first call that fails, or 0.
int errno_of_writing(const fs_std::path& path, std::int64_t offset, std::string_view text,
                     int flags = 0, bool syncs = true);
/// Opens the file and calls fsync(). Returns the errno, or 0.
int errno_of_syncing(const fs_std::path& path);

std::string file_text(const fs_std::path& path);
/// Returns a text that does not compress.
std::string noise(std::uint64_t seed, std::size_t size);
/// Returns the names of the conflict files that a mount shows in a directory.
std::vector<std::string> conflicts_in(const fs_std::path& directory);

}  // namespace bloscfs::test
