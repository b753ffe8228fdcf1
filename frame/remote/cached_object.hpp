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
  /// `etag` must be a strong entity tag.
  CachedObject(std::shared_ptr<DiskCache> cache, const Url& url, const std::string& etag,
               std::uint64_t size);

  /// Copies cached bytes from `offset` on, up to the first missing one. Returns the number of
  /// copied bytes.
  std::size_t read(std::uint64_t offset, MutableBytes out) const;
  /// True if the piece with that byte is on disk. Does not check its contents.
  bool has(std::uint64_t offset) const;
  /// Stores the pieces that are complete in `bytes`, which begin at `offset`.
  void keep(std::uint64_t offset, Bytes bytes) const;

 private:
  PieceName name_of(std::uint64_t number) const;

  const std::shared_ptr<DiskCache> cache_;
  const std::array<std::uint8_t, 32> hash_;  ///< of URL, ETag and size
  const std::uint64_t size_;
};

/// The remembered first answer for a URL: its headers, and the object's first bytes.
struct CachedFirst {
  AnswerHeaders headers;  ///< like those of a 206
  std::vector<std::uint8_t> body;
  std::shared_ptr<const CachedObject> object;
};

/// Returns the remembered first answer for `url`, or nothing if its headers or bytes are missing
/// from the cache.
std::optional<CachedFirst> find_first(const std::shared_ptr<DiskCache>& cache, const Url& url);
/// Remembers the headers of an answer with status 206 for the first bytes.
void cache_first(const std::shared_ptr<DiskCache>& cache, const Url& url,
                 const AnswerHeaders& headers);

}  // namespace bloscfs::frame::inline remote
