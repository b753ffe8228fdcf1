#pragma once
// The ranges of an object that are under way or kept, none of which overlap: what readers want,
// what they said that they will want, and what is ahead of those who read in order.

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
  /// What is before `begin` is never asked for.
  ObjectWindows(std::shared_ptr<FetchSource> source, std::uint64_t begin);

  /// Bytes that the object has, behind `begin`. Throws as RangeFetch::wait() does.
  void read(std::uint64_t offset, MutableBytes out);
  /// Bytes that came before the object was opened, where there is no window.
  void insert(std::uint64_t offset, std::vector<std::uint8_t> bytes);
  /// See ByteSource::expect().
  void expect(std::span<const ByteRange> ranges);
  bool is_at_hand(std::span<const ByteRange> ranges);
  /// Tells of a read of bytes before `begin`.
  void note_read(std::uint64_t offset, std::size_t size);

  bool drop_idle() noexcept override;

 private:
  using Clock = ReadStreams::Clock;
  struct Window {
    std::shared_ptr<RangeFetch> fetch;
    std::size_t taken = 0;  ///< bytes that readers had of it
    Clock::time_point used;
  };
  using Windows = std::map<std::uint64_t, Window>;
  using Fetches = std::vector<std::shared_ptr<RangeFetch>>;

  std::size_t most_ahead() const;
  std::size_t largest_range() const;
  std::size_t range_of_read(std::size_t size) const;
  void plan_read(std::uint64_t offset, std::size_t size, bool uses_cache = true);
  /// The part of a range that the object has behind `begin_`.
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
  void drop_left(Clock::time_point now, Fetches& dropped);
  std::uint64_t unread() const;

  const std::shared_ptr<FetchSource> source_;
  const std::uint64_t begin_, size_;

  std::mutex mutex_;
  Windows windows_;  ///< by where they begin
  ReadStreams streams_;
  bool is_watched_ = false;
};

}  // namespace bloscfs::frame::inline remote
