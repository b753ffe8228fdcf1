#include "frame/remote/cached_object.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/endian/conversion.hpp>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "frame/remote/digests.hpp"

namespace bloscfs::frame::inline remote {
namespace {

using ObjectHash = Sha256;

/// Servers choose ETags. A cryptographic hash keeps a server from choosing one that gives its
/// pieces the names of another object's.
ObjectHash hash_of(std::string_view kind, std::string_view url, std::string_view etag,
                   std::uint64_t size) {
  std::string text;
  for (const std::string_view part : {kind, url, etag}) (text += part) += '\0';
  text += std::to_string(size);
  return sha256(text);
}

PieceName piece_name(const ObjectHash& hash, std::uint64_t number) {
  std::array<std::uint8_t, 40> key{};
  std::copy(hash.begin(), hash.end(), key.begin());
  boost::endian::store_little_u64(key.data() + hash.size(), number);
  XXH128_canonical_t canonical;
  ::XXH128_canonicalFromHash(&canonical, ::XXH3_128bits(key.data(), key.size()));
  PieceName name{};
  static_assert(sizeof canonical.digest == sizeof name);
  std::memcpy(name.data(), &canonical.digest[0], name.size());
  return name;
}

PieceName name_of_headers(const Url& url) {
  return piece_name(hash_of("headers", url.text(), "", 0), 0);
}

/// Throws nlohmann's exceptions and std::out_of_range for bytes that cache_first() has not written.
AnswerHeaders headers_in(Bytes bytes) {
  const auto json = nlohmann::json::parse(bytes.begin(), bytes.end());
  AnswerHeaders headers;
  headers.status = kHttpPartial;
  headers.etag = parse_etag(json.at("etag").get<std::string>());
  headers.last_modified = parse_date(json.at("last_modified").get<std::string>());
  headers.fields = json.at("fields").get<std::map<std::string, std::string>>();
  const auto total = json.at("size").get<std::uint64_t>();
  headers.range = {0, std::min<std::uint64_t>(kCachePieceSize, total) - 1, total, true};
  return headers;
}

}  // namespace

CachedObject::CachedObject(std::shared_ptr<DiskCache> cache, const Url& url,
                           const std::string& etag, std::uint64_t size)
    : cache_(std::move(cache)), hash_(hash_of("bytes", url.text(), etag, size)), size_(size) {}

PieceName CachedObject::name_of(std::uint64_t number) const { return piece_name(hash_, number); }

std::size_t CachedObject::read(std::uint64_t offset, MutableBytes out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t at = offset + done;
    const DiskCache::Piece piece = cache_->find(name_of(at / kCachePieceSize));
    if (!piece) break;
    const Bytes bytes = piece->bytes();
    const auto skipped = static_cast<std::size_t>(at % kCachePieceSize);
    if (bytes.size() <= skipped) break;
    const std::size_t count = std::min(bytes.size() - skipped, out.size() - done);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(skipped), count,
                out.begin() + static_cast<std::ptrdiff_t>(done));
    done += count;
  }
  return done;
}

bool CachedObject::has(std::uint64_t offset) const {
  return cache_->has(name_of(offset / kCachePieceSize));
}

void CachedObject::keep(std::uint64_t offset, Bytes bytes) const {
  const std::uint64_t end = offset + bytes.size();
  for (std::uint64_t at = (offset + kCachePieceSize - 1) / kCachePieceSize * kCachePieceSize;
       at < end; at += kCachePieceSize) {
    const std::uint64_t size = std::min<std::uint64_t>(kCachePieceSize, size_ - at);
    if (at + size > end) return;
    cache_->keep(name_of(at / kCachePieceSize), bytes.subspan(static_cast<std::size_t>(at - offset),
                                                              static_cast<std::size_t>(size)));
  }
}

std::optional<CachedFirst> find_first(const std::shared_ptr<DiskCache>& cache, const Url& url) {
  const DiskCache::Piece piece = cache->find(name_of_headers(url));
  if (!piece) return std::nullopt;
  CachedFirst first;
  try {
    first.headers = headers_in(piece->bytes());
  } catch (const std::exception&) {
    return std::nullopt;
  }
  if (!is_strong(first.headers.etag) || first.headers.range->total == 0) return std::nullopt;
  const std::uint64_t total = first.headers.range->total;
  first.body.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kCachePieceSize, total)));
  first.object = std::make_shared<const CachedObject>(cache, url, first.headers.etag, total);
  if (first.object->read(0, first.body) != first.body.size()) return std::nullopt;
  return first;
}

void cache_first(const std::shared_ptr<DiskCache>& cache, const Url& url,
                 const AnswerHeaders& headers) {
  nlohmann::json json = {{"etag", headers.etag},
                         {"last_modified", headers.last_modified},
                         {"size", headers.range->total},
                         {"fields", headers.fields}};
  // Header values may be any bytes. Headers that JSON cannot express are not kept.
  std::string text;
  try {
    text = json.dump();
  } catch (const nlohmann::json::exception&) {
    return;
  }
  if (text.size() <= kCachePieceSize)
    cache->keep(name_of_headers(url),
                Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()), true);
}

}  // namespace bloscfs::frame::inline remote
