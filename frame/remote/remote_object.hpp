#pragma once
// An object behind HTTP as a source: one state of it, read by ranges.

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frame/remote/object_requests.hpp"

namespace bloscfs::frame {

/// Small reads get windows of 64 KiB, for who reads on of up to 1 MiB, of which the last few are
/// kept; reads of more go as they are, in ranges of at most 8 MiB side by side. Errors are
/// RemoteError: EIO as soon as the object is not the one that was opened, else those of
/// PendingAnswer::wait().
class RemoteObject final : public ObjectSource {
 public:
  /// Asks for the first 64 KiB: a small object is in memory then, and also one of up to 8 MiB where
  /// the server sends no ranges. Gives `known`, which may be null, where the object still is in
  /// that state. Throws RemoteError, as said there.
  static std::shared_ptr<const RemoteObject> open(
      std::shared_ptr<HttpClient> client, HttpPlace place,
      const std::shared_ptr<const RemoteObject>& known = nullptr);

  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override;
  /// Made of size, ETag and time of modification; it never changes.
  FileStamp stamp() const override { return stamp_; }

  const ObjectState& state() const override { return requests_->state(); }
  bool is_in_memory() const override { return first_.size() == size(); }
  std::uint64_t size() const { return requests_->size(); }

 private:
  class Window;
  using WindowPointer = std::shared_ptr<Window>;

  RemoteObject(std::shared_ptr<HttpClient> client, HttpPlace place, HttpAnswer first);

  HttpAnswer finish(PendingAnswer& pending, const RangeRequest& request) const;
  HttpAnswer fetch(std::uint64_t offset, std::size_t size) const;

  void read_large(std::uint64_t offset, MutableBytes out) const;
  void read_small(std::uint64_t offset, MutableBytes out) const;
  WindowPointer window_for(std::uint64_t offset, std::size_t size) const;
  WindowPointer new_window(std::uint64_t offset, std::size_t size) const;
  void forget(const WindowPointer& window) const;

  const std::shared_ptr<HttpClient> client_;
  const std::shared_ptr<ObjectRequests> requests_;
  FileStamp stamp_;
  std::vector<std::uint8_t> first_;  ///< the object's first bytes

  mutable std::mutex mutex_;
  mutable std::list<WindowPointer> windows_;  ///< the one used last in front
};

}  // namespace bloscfs::frame
