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
/// encoded as percent_encoded() does, '/' in a query as well. `service`: of Amazon's, by its name.
std::vector<HttpHeader> s3_signature(const S3Credentials& credentials, const std::string& region,
                                     const WebRequest& request,
                                     const std::vector<HttpHeader>& headers, std::time_t now,
                                     const std::string& service = "s3");

}  // namespace bloscfs::frame::inline remote
