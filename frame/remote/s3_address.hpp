#pragma once
// Names of objects in stores: s3://BUCKET/PREFIX, and the URLs of requests for them.

#include <string>
#include <string_view>

#include "frame/remote/url.hpp"

namespace bloscfs::frame::inline remote {

/// True for a text that begins with s3://.
bool is_s3(std::string_view text);

struct S3Source {
  std::string bucket;
  std::string prefix;  ///< as it was given; may be empty, and may end in '/'
};

/// Throws UrlError for impossible bucket names, users, queries, empty components, "." and "..".
S3Source parse_s3(std::string_view text);

class S3Address {
 public:
  /// If `endpoint` is empty, it is Amazon's for the region. The bucket becomes part of the host
  /// name if `virtual_host` is true, and at Amazon's endpoint unless the bucket's name has dots.
  /// Otherwise it is part of the path. Throws UrlError.
  S3Address(const std::string& bucket, const std::string& endpoint, const std::string& region,
            bool virtual_host);

  const std::string& bucket() const { return bucket_; }
  Url object(std::string_view key) const;
  /// `query` begins with '?' and is encoded.
  Url whole_bucket(const std::string& query) const;
  /// Returns the key as the header x-amz-copy-source names it.
  std::string copy_source(std::string_view key) const;
  /// For messages, and to tell objects apart: objects of two endpoints differ.
  std::string shown(std::string_view key) const;

 private:
  const std::string bucket_;
  Url base_;  ///< of the bucket; its path ends in '/'
};

}  // namespace bloscfs::frame::inline remote
