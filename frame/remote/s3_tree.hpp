#pragma once
// The objects of a bucket below a prefix, as a tree.

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "frame/remote/disk_cache.hpp"
#include "frame/remote/remote_opening.hpp"
#include "frame/remote/remote_settings.hpp"
#include "frame/remote/s3_bucket.hpp"
#include "frame/remote/traffic.hpp"

namespace bloscfs::frame::inline remote {

/// Does the work of open_remote() for s3://. Asks the object store what the prefix stands for. If
/// the tree is to be writable, probes whether the object store keeps conditions (s3_probe.hpp).
std::shared_ptr<ObjectTree> open_s3(const std::string& source, const RemoteSettings& settings);

/// A name that is both a key and a prefix of other keys is a directory. Names that no file can have
/// are left out.
///
/// If the object store ignores conditions of DELETE (S3Capabilities), remove() compares the state
/// first. Another host may change the object in between.
class S3Tree final : public ObjectTree {
 public:
  /// `prefix` as in S3Source; `cache` may be null. Throws RemoteError(ENOENT) if no key begins with
  /// the prefix, unless `may_be_empty` is true.
  S3Tree(std::unique_ptr<S3Bucket> bucket, const std::string& prefix, bool writable,
         bool may_be_empty, std::shared_ptr<DiskCache> cache = nullptr,
         std::shared_ptr<Traffic> traffic = std::make_shared<Traffic>());

  const std::optional<std::string>& single() const override { return single_; }
  std::string url(const std::string& path) const override;
  using ObjectTree::list;
  std::vector<ObjectEntry> list(const std::string& directory, MemoryCharge& charge) override;
  std::shared_ptr<const ObjectSource> open(
      const std::string& path, const std::shared_ptr<const ObjectSource>& known) override;
  std::shared_ptr<ObjectOpening> begin(const std::string& path, std::span<const ByteRange> ranges,
                                       const void* group) override;
  std::int64_t max_bytes_in_flight() const override { return RemoteOpening::most_ahead(*traffic_); }
  ObjectTreeNumbers numbers() const override { return numbers_of(*bucket_->client(), *traffic_); }

  bool has_tombstones() const override { return true; }
  bool is_writable() const override { return writable_; }
  /// If the object store has an object with the same `commit` in its metadata, put() takes that
  /// object for its own, because the answer to its request may have been lost.
  ObjectState put(const std::string& path, Bytes bytes, const ObjectCondition& condition,
                  const std::map<std::string, std::string>& metadata) override;
  void remove(const std::string& path, const ObjectCondition& condition) override;
  bool keeps_conditions_of_removals() const override {
    return bucket_->capabilities().remove_if_same;
  }
  void remove_once(const std::string& path, const ObjectState& state) override;
  void remove_all(std::span<const std::string> paths) override;
  void copy(const std::string& from, const std::string& to) override;

 private:
  struct Opened {
    std::string path;
    std::shared_ptr<const ObjectSource> source;
    std::chrono::steady_clock::time_point when;
  };

  void find_root(const std::string& prefix, bool may_be_empty);
  std::string key_of(const std::string& path) const;
  std::optional<S3Page> take_first_page();
  std::shared_ptr<const ObjectSource> take_first(const std::string& path);
  /// Throws EROFS unless the tree is writable. Forgets the first page, because the change may make
  /// it wrong.
  void begin_change(const std::string& path);
  static bool holds(const std::optional<ObjectState>& found, const ObjectCondition& condition);

  const std::unique_ptr<S3Bucket> bucket_;
  const std::shared_ptr<DiskCache> cache_;
  const std::shared_ptr<Traffic> traffic_;
  const bool writable_;
  std::string root_;  ///< the start of all keys; empty, or ends in '/'
  std::optional<std::string> single_;

  std::mutex mutex_;
  std::set<std::size_t> deep_;  ///< hashes of directories to list with a delimiter
  struct FirstPage {
    S3Page page;
    std::chrono::steady_clock::time_point when;
  };
  std::optional<FirstPage> first_page_;  ///< of the root's listing
  std::optional<Opened> first_;          ///< the single object, from the first answer
};

}  // namespace bloscfs::frame::inline remote
