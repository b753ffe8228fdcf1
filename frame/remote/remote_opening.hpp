#pragma once
// An object that is requested before a reader opens it.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "frame/remote/disk_cache.hpp"
#include "frame/remote/first_fetch.hpp"
#include "frame/remote/remote_object.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline remote {

/// Returns the counters of a tree whose objects share `traffic`.
ObjectTreeNumbers numbers_of(const HttpClient& client, const Traffic& traffic);

class RemoteOpening final : public ObjectOpening {
 public:
  /// Requests the object's beginning and the first of the `ranges` after it. The requests are not
  /// urgent. With a `cache`, requests only the beginning.
  RemoteOpening(std::shared_ptr<HttpClient> client, HttpPlace place,
                std::shared_ptr<Traffic> traffic, std::shared_ptr<DiskCache> cache,
                std::span<const ByteRange> ranges, const void* group);
  ~RemoteOpening() override;
  RemoteOpening(const RemoteOpening&) = delete;
  RemoteOpening& operator=(const RemoteOpening&) = delete;

  std::shared_ptr<const ObjectSource> wait() override;
  bool is_lost() const override;
  void expect(std::span<const ByteRange> ranges) override;
  bool is_available(std::span<const ByteRange> ranges) const override;

  /// Returns the most bytes to request ahead of a reader: seven eighths of the memory budget.
  static std::int64_t most_ahead(const Traffic& traffic) {
    return static_cast<std::int64_t>(traffic.budget() - traffic.budget() / 8);
  }

 private:
  std::vector<RangeRequest> requests_for(std::span<const ByteRange> ranges) const;
  std::shared_ptr<const RemoteObject> object() const;
  /// Makes the object from the answers of fetch_. Returns null if there are none, or if they report
  /// neither the object nor its cached state.
  std::shared_ptr<const RemoteObject> make_object() const;

  const std::shared_ptr<HttpClient> client_;
  const HttpPlace place_;
  const std::shared_ptr<Traffic> traffic_;
  const std::shared_ptr<DiskCache> cache_;
  const void* const group_;
  std::shared_ptr<FirstFetch> fetch_;

  mutable std::mutex mutex_;
  mutable std::optional<CachedFirst> earlier_;
  mutable std::shared_ptr<const RemoteObject> object_;  ///< null until made from the answers
  std::vector<ByteRange> expected_;                     ///< ranges to announce to object_
};

}  // namespace bloscfs::frame::inline remote
