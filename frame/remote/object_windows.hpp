#pragma once
// The ranges of an object that are under way or kept. They do not overlap. They are the
// ranges that readers wait for, ranges that readers have announced, and read-ahead.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "frame/remote/range_fetch.hpp"
#include "frame/store/read_streams.hpp"

namespace bloscfs::frame::inline remote {

/// Thread-safe.
class ObjectWindows final : public IdleSweep::Keeper,
                            public std::enable_shared_from_this<ObjectWindows> {
 public:
  /// Bytes before `begin` are never requested, because the caller has them.
  ObjectWindows(std::shared_ptr<FetchSource> source, std::uint64_t begin);

  /// Reads bytes of the object that are not before `begin`. Throws like RangeFetch::wait().
  void read(std::uint64_t offset, MutableBytes out);
  /// Adds bytes that arrived before the object was opened, unless a window overlaps them.
  void insert(std::uint64_t offset, std::vector<std::uint8_t> bytes);
  /// See ByteSource::expect().
  void expect(std::span<const ByteRange> ranges);
  bool is_available(std::span<const ByteRange> ranges);
  /// Notes a read of bytes before `begin`.
  void note_read(std::uint64_t offset, std::size_t size);

  bool drop_idle() noexcept override;

 private:
  using Clock = ReadStreams::Clock;
  struct Window {
    std::shared_ptr<RangeFetch> fetch;
    std::size_t taken = 0;  ///< bytes that readers have read of it
    Clock::time_point used;
  };
  using Windows = std::map<std::uint64_t, Window>;
  using Fetches = std::vector<std::shared_ptr<RangeFetch>>;

  std::size_t most_ahead() const;
  std::size_t largest_range() const;
  std::size_t range_of_read(std::size_t size) const;
  void plan_read(std::uint64_t offset, std::size_t size, bool uses_cache = true);
  /// Returns the part of a range that the object has from `begin_` on.
  ReadSpan inside(const ByteRange& range) const;
  ReadSpan widened(const ReadSpan& gap) const;
  Windows::iterator find(std::uint64_t offset);
  ReadSpan in_pieces(const ReadSpan& extent) const;
  std::uint64_t end_of_missing(std::uint64_t begin, std::uint64_t limit) const;
  void fill(ReadSpan extent, std::size_t range, Fetches& fresh, bool uses_cache = true);
  std::size_t read_cached(std::uint64_t offset, MutableBytes out);
  template <typename Work>
  bool queue(std::uint64_t wanted, const Work& work);
  void begin_queued(bool is_new);
  std::shared_ptr<RangeFetch> window_at(std::uint64_t offset);
  void note_taken(const std::shared_ptr<RangeFetch>& fetch, std::size_t size);
  void forget(const std::shared_ptr<RangeFetch>& fetch);
  void trim(Fetches& dropped);
  void drop_abandoned(Clock::time_point now, Fetches& dropped);
  std::uint64_t unread() const;

  const std::shared_ptr<FetchSource> source_;
  const std::uint64_t begin_, size_;

  std::mutex mutex_;
  Windows windows_;  ///< by their first byte
  ReadStreams streams_;
  bool is_watched_ = false;  ///< the traffic's IdleSweep calls drop_idle()
};

}  // namespace bloscfs::frame::inline remote
