#pragma once
// Names of objects in stores: s3://BUCKET/PREFIX, and the URLs that they are asked for by.

#include <string>
#include <string_view>

#include "frame/remote/url.hpp"

namespace bloscfs::frame::inline remote {

/// True for what begins with s3://, whatever follows.
bool is_s3(std::string_view text);

struct S3Source {
  std::string bucket;
  std::string prefix;  ///< as it was given: may be empty, and may end in '/'
};

/// Throws UrlError: for buckets that cannot be, users, queries, empty components, "." and "..".
S3Source parse_s3(std::string_view text);

class S3Address {
 public:
  /// `endpoint` empty: Amazon's for the region. The bucket stands in the host's name there, unless
  /// it has dots, and where `virtual_host` says so. Throws UrlError.
  S3Address(const std::string& bucket, const std::string& endpoint, const std::string& region,
            bool virtual_host);

  const std::string& bucket() const { return bucket_; }
  Url object(std::string_view key) const;
  /// `query` with its '?', encoded.
  Url whole_bucket(const std::string& query) const;
  /// As a header names the source of a copy.
  std::string copy_source(std::string_view key) const;
  /// For messages, and to tell objects apart: those of two endpoints differ.
  std::string shown(std::string_view key) const;

 private:
  const std::string bucket_;
  Url base_;  ///< of the bucket, its path ends in '/'
};

}  // namespace bloscfs::frame::inline remote
