#pragma once
// An object behind HTTP as a source: one state of it, read by ranges.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "frame/remote/object_windows.hpp"

namespace bloscfs::frame::inline remote {

/// What is asked for at first: less of an object is not worth a request.
inline constexpr std::uint32_t kFirstBytes = 64 << 10;
/// A request for the first `size` bytes of an object, or all of one that the server sends as a
/// whole, unless it is in the state that `known`, which may be null, tells of.
RangeRequest first_request(HttpPlace place, std::uint32_t size, const AnswerHeaders* known);

/// Small reads get windows of 64 KiB, of which the last few are kept; who reads in order gets
/// more and more ahead of him. Errors are RemoteError: EIO as soon as the object is not the one
/// that was opened, else those of PendingAnswer::wait().
class RemoteObject final : public ObjectSource {
 public:
  /// Asks for the first 64 KiB: a small object is in memory then, and also one of up to 8 MiB where
  /// the server sends no ranges. Gives `known`, which may be null, where the object still is in
  /// that state. `traffic` is shared by all objects that are to share its budget; null: one of its
  /// own. `cache`, which may be null, keeps what comes, of objects with a strong ETag alone. Throws
  /// RemoteError, as said there; ENOENT of a directory.
  static std::shared_ptr<const RemoteObject> open(
      std::shared_ptr<HttpClient> client, HttpPlace place,
      const std::shared_ptr<const RemoteObject>& known = nullptr,
      std::shared_ptr<Traffic> traffic = nullptr,
      const std::shared_ptr<DiskCache>& cache = nullptr);
  /// The object that `first` is the answer of, for its beginning, and others in `more` for ranges
  /// behind that: what is not of the same state is left out. `earlier` is what `first` may say is
  /// so still.
  static std::shared_ptr<const RemoteObject> make(std::shared_ptr<HttpClient> client,
                                                  HttpPlace place, HttpAnswer first,
                                                  std::vector<HttpAnswer> more,
                                                  std::optional<CachedFirst> earlier,
                                                  std::shared_ptr<Traffic> traffic,
                                                  const std::shared_ptr<DiskCache>& cache);
  ~RemoteObject() override;

  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override;
  bool is_far() const override { return !is_in_memory(); }
  void expect(std::span<const ByteRange> ranges) const override;
  bool is_at_hand(std::span<const ByteRange> ranges) const override;
  /// Made of size, tag and time of modification; it never changes.
  FileStamp stamp() const override { return stamp_; }

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
