#pragma once
// An object that is asked for before anybody opens it.

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

/// Of a tree whose objects share the traffic.
ObjectTreeNumbers numbers_of(const HttpClient& client, const Traffic& traffic);

class RemoteOpening final : public ObjectOpening {
 public:
  /// Asks for the object's beginning and the first of the `ranges` behind that, as what is only
  /// expected; with a `cache`, for the beginning alone.
  RemoteOpening(std::shared_ptr<HttpClient> client, HttpPlace place,
                std::shared_ptr<Traffic> traffic, std::shared_ptr<DiskCache> cache,
                std::span<const ByteRange> ranges, const void* group);
  ~RemoteOpening() override;
  RemoteOpening(const RemoteOpening&) = delete;
  RemoteOpening& operator=(const RemoteOpening&) = delete;

  std::shared_ptr<const ObjectSource> wait() override;
  bool is_lost() const override;
  void expect(std::span<const ByteRange> ranges) override;
  bool is_at_hand(std::span<const ByteRange> ranges) const override;

  /// An eighth of the budget is left to others.
  static std::int64_t most_ahead(const Traffic& traffic) {
    return static_cast<std::int64_t>(traffic.budget() - traffic.budget() / 8);
  }

 private:
  std::vector<RangeRequest> requests_for(std::span<const ByteRange> ranges) const;
  std::shared_ptr<const RemoteObject> object() const;
  /// Of answers that are here; null where they are of no use.
  std::shared_ptr<const RemoteObject> make_object() const;

  const std::shared_ptr<HttpClient> client_;
  const HttpPlace place_;
  const std::shared_ptr<Traffic> traffic_;
  const std::shared_ptr<DiskCache> cache_;
  const void* const group_;
  std::shared_ptr<FirstFetch> fetch_;

  mutable std::mutex mutex_;
  mutable std::optional<CachedFirst> earlier_;
  mutable std::shared_ptr<const RemoteObject> object_;  ///< null: not made of the answers yet
  std::vector<ByteRange> expected_;                     ///< until then
};

}  // namespace bloscfs::frame::inline remote
