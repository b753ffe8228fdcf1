#pragma once
// One state of an object in the cache on disk.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frame/remote/disk_cache.hpp"
#include "frame/remote/http_answer.hpp"
#include "frame/remote/url.hpp"

namespace bloscfs::frame::inline remote {

/// Thread-safe.
class CachedObject {
 public:
  /// Of an entity tag that is strong.
  CachedObject(std::shared_ptr<DiskCache> cache, const Url& url, const std::string& etag,
               std::uint64_t size);

  /// Copies the bytes that are there from `offset` on, up to the first one that is not; returns
  /// how many.
  std::size_t read(std::uint64_t offset, MutableBytes out) const;
  /// True if the piece with that byte is there, as far as can be told without reading it.
  bool has(std::uint64_t offset) const;
  /// Keeps the whole pieces in bytes from `offset` on.
  void keep(std::uint64_t offset, Bytes bytes) const;

 private:
  PieceName name_of(std::uint64_t number) const;

  const std::shared_ptr<DiskCache> cache_;
  const std::array<std::uint8_t, 32> hash_;  ///< of URL, ETag and size
  const std::uint64_t size_;
};

/// What is known of an object from earlier: the headers of the answer that its first bytes came
/// with, and these.
struct CachedFirst {
  AnswerHeaders headers;  ///< as of a 206
  std::vector<std::uint8_t> body;
  std::shared_ptr<const CachedObject> object;
};

/// Nothing where one of both is missing.
std::optional<CachedFirst> find_first(const std::shared_ptr<DiskCache>& cache, const Url& url);
/// Keeps the headers of an answer with status 206 for the first bytes.
void keep_first(const std::shared_ptr<DiskCache>& cache, const Url& url,
                const AnswerHeaders& headers);

}  // namespace bloscfs::frame::inline remote
