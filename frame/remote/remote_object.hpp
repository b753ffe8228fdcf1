#pragma once
// An object behind HTTP as a source: one state of it, read in ranges.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "frame/remote/object_windows.hpp"

namespace bloscfs::frame::inline remote {

/// Size of the first request. Fewer bytes are not worth a request.
inline constexpr std::uint32_t kFirstBytes = 64 << 10;
/// Returns a request for the first `size` bytes of an object, or for all of it if the server sends
/// no ranges. `known`, which may be null, adds a condition: the server need not send the object if
/// it is still in that state.
RangeRequest first_request(HttpPlace place, std::uint32_t size, const AnswerHeaders* known);

/// Small reads use windows of at least 64 KiB, of which the last few are kept. For sequential
/// readers, more and more is requested ahead. Errors are RemoteError: EIO once the object is not
/// the one that was opened, otherwise those of PendingAnswer::wait().
class RemoteObject final : public ObjectSource {
 public:
  /// Requests the first 64 KiB. A small object is then in memory, and so is one of up to 8 MiB if
  /// the server sends no ranges. Throws RemoteError like PendingAnswer::wait(); ENOENT for a
  /// directory.
  ///
  /// - `known`, which may be null, is returned if the object is still in that state.
  /// - `traffic` has the memory budget and the transfers that objects share. Null: the object has a
  ///   Traffic of its own.
  /// - `cache`, which may be null, keeps what arrives of objects with a strong ETag.
  static std::shared_ptr<const RemoteObject> open(
      std::shared_ptr<HttpClient> client, HttpPlace place,
      const std::shared_ptr<const RemoteObject>& known = nullptr,
      std::shared_ptr<Traffic> traffic = nullptr,
      const std::shared_ptr<DiskCache>& cache = nullptr);
  /// Makes an object from `first`, the answer for its beginning, and from `more`, answers for later
  /// ranges. Ignores answers in `more` for another state. `earlier` is what a 304 in `first` refers
  /// to.
  static std::shared_ptr<const RemoteObject> make(std::shared_ptr<HttpClient> client,
                                                  HttpPlace place, HttpAnswer first,
                                                  std::vector<HttpAnswer> more,
                                                  std::optional<CachedFirst> earlier,
                                                  std::shared_ptr<Traffic> traffic,
                                                  const std::shared_ptr<DiskCache>& cache);
  ~RemoteObject() override;

  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override;
  bool is_over_network() const override { return !is_in_memory(); }
  void expect(std::span<const ByteRange> ranges) const override;
  bool is_available(std::span<const ByteRange> ranges) const override;
  /// Made from size, tag and modification time. Never changes.
  FileStamp stamp() const override { return stamp_; }

  std::size_t memory() const override { return first_.capacity(); }
  const ObjectState& state() const override { return source_->requests->state(); }
  bool is_in_memory() const override { return first_.size() == size(); }
  std::uint64_t size() const { return state().size; }

 private:
  RemoteObject(std::shared_ptr<HttpClient> client, HttpPlace place, const HttpAnswer& first,
               std::shared_ptr<Traffic> traffic, std::shared_ptr<const CachedObject> cached);
  void add(std::vector<HttpAnswer> more);

  const std::shared_ptr<HttpClient> client_;
  const std::shared_ptr<FetchSource> source_;
  const FileStamp stamp_;
  const std::vector<std::uint8_t> first_;  ///< the object's first bytes
  std::shared_ptr<ObjectWindows> windows_;
};

}  // namespace bloscfs::frame::inline remote
