#pragma once
// Signatures of requests to object stores: AWS Signature Version 4, in headers.

#include <ctime>
#include <string>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/remote/http_request.hpp"
#include "frame/remote/s3_credentials.hpp"

namespace bloscfs::frame::inline remote {

/// The header that tells the hash of a body. A request that has it already is not hashed again.
inline constexpr const char* kContentHash = "x-amz-content-sha256";
std::string content_hash(codec::Bytes body);

/// The headers that sign a request with `headers` at the time `now`. The URL's path and query are
/// encoded as percent_encoded() does, '/' in a query as well.
std::vector<HttpHeader> s3_signature(const S3Credentials& credentials, const std::string& region,
                                     const WebRequest& request,
                                     const std::vector<HttpHeader>& headers, std::time_t now);

class S3Signer final : public RequestSigner {
 public:
  S3Signer(S3Credentials credentials, std::string region)
      : credentials_(std::move(credentials)), region_(std::move(region)) {}
  std::vector<HttpHeader> sign(const WebRequest& request,
                               const std::vector<HttpHeader>& headers) const override {
    return s3_signature(credentials_, region_, request, headers, std::time(nullptr));
  }

 private:
  const S3Credentials credentials_;
  const std::string region_;
};

}  // namespace bloscfs::frame::inline remote
