#pragma once
// An object behind HTTP as a source: one state of it, read by ranges.

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frame/remote/http_client.hpp"
#include "frame/store/byte_source.hpp"

namespace bloscfs::frame {

/// Small reads get windows of 64 KiB, for who reads on of up to 1 MiB, of which the last few are
/// kept; reads of more go as they are, in ranges of at most 8 MiB side by side. Errors are
/// RemoteError: EIO as soon as the object is not the one that was opened, else those of
/// PendingAnswer::wait().
class RemoteObject final : public ByteSource {
 public:
  /// Asks for the first 64 KiB: a small object is in memory then, and also one of up to 8 MiB where
  /// the server sends no ranges. Throws RemoteError, as said there.
  static std::shared_ptr<RemoteObject> open(std::shared_ptr<HttpClient> client, const Url& url);

  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override;
  /// Made of size, ETag and time of modification; it never changes.
  FileStamp stamp() const override { return stamp_; }

  std::uint64_t size() const { return size_; }
  /// No read needs the network any more.
  bool is_in_memory() const { return first_.size() == size_; }

 private:
  class Window;
  using WindowPointer = std::shared_ptr<Window>;

  RemoteObject(std::shared_ptr<HttpClient> client, const Url& url, HttpAnswer first);

  RangeRequest request_for(std::uint64_t offset, std::size_t size) const;
  void check_state(const AnswerHeaders& headers) const;
  HttpAnswer finish(PendingAnswer& pending, const RangeRequest& request) const;
  HttpAnswer fetch(std::uint64_t offset, std::size_t size) const;
  HttpPlace place() const;

  void read_large(std::uint64_t offset, MutableBytes out) const;
  void read_small(std::uint64_t offset, MutableBytes out) const;
  WindowPointer window_for(std::uint64_t offset, std::size_t size) const;
  WindowPointer new_window(std::uint64_t offset, std::size_t size) const;
  void forget(const WindowPointer& window) const;

  const std::shared_ptr<HttpClient> client_;
  const Url url_;
  AnswerHeaders state_;  ///< of the first answer
  std::uint64_t size_ = 0;
  FileStamp stamp_;
  std::vector<std::uint8_t> first_;  ///< the object's first bytes

  mutable std::mutex mutex_;
  mutable HttpPlace place_;                   ///< where redirects led
  mutable std::list<WindowPointer> windows_;  ///< the one used last in front
};

}  // namespace bloscfs::frame
