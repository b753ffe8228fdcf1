#pragma once
// The tree of a web server: one object, or directories that are known by their index pages.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frame/remote/disk_cache.hpp"
#include "frame/remote/http_client.hpp"
#include "frame/remote/remote_opening.hpp"
#include "frame/remote/traffic.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline remote {

/// A URL whose path does not end in '/' is a single object, named after its last component. The
/// URL's query is sent for that URL only, and not for those below it.
class HttpTree final : public ObjectTree {
 public:
  /// Sends no request. `cache` may be null. Throws UrlError if the last component is not a file
  /// name.
  HttpTree(std::shared_ptr<HttpClient> client, const Url& root,
           std::shared_ptr<DiskCache> cache = nullptr,
           std::shared_ptr<Traffic> traffic = std::make_shared<Traffic>());

  const std::optional<std::string>& single() const override { return single_; }
  std::string url(const std::string& path) const override { return url_of(path).shown(); }

  /// Sends one request. In addition to ObjectTree's errors, throws EFBIG for a page that is too
  /// large.
  using ObjectTree::list;
  std::vector<ObjectEntry> list(const std::string& directory, MemoryCharge& charge) override;
  std::shared_ptr<const ObjectSource> open(
      const std::string& path, const std::shared_ptr<const ObjectSource>& known) override;
  std::shared_ptr<ObjectOpening> begin(const std::string& path, std::span<const ByteRange> ranges,
                                       const void* group) override;
  std::int64_t max_bytes_in_flight() const override { return RemoteOpening::most_ahead(*traffic_); }
  ObjectTreeNumbers numbers() const override { return numbers_of(*client_, *traffic_); }

 private:
  Url url_of(const std::string& path) const;
  bool is_below_root(const std::string& path) const;

  const std::shared_ptr<HttpClient> client_;
  const std::shared_ptr<DiskCache> cache_;
  const std::shared_ptr<Traffic> traffic_;
  const Url root_;
  std::optional<std::string> single_;
};

}  // namespace bloscfs::frame::inline remote
