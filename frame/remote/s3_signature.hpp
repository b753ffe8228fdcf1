#pragma once
// Signatures of requests to object stores: AWS Signature Version 4, in headers.

#include <ctime>
#include <string>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/remote/http_request.hpp"
#include "frame/remote/s3_credentials.hpp"

namespace bloscfs::frame::inline remote {

/// The header with the hash of a body. If a request has it already, the body is not hashed again.
inline constexpr const char* kContentHash = "x-amz-content-sha256";
std::string content_hash(codec::Bytes body);

/// Returns the headers that sign a request with `headers` at the time `now`. The URL's path and
/// query must be encoded as by percent_encoded(), and a '/' in the query, too. `service` is the
/// name of Amazon's service.
std::vector<HttpHeader> s3_signature(const S3Credentials& credentials, const std::string& region,
                                     const WebRequest& request,
                                     const std::vector<HttpHeader>& headers, std::time_t now,
                                     const std::string& service = "s3");

}  // namespace bloscfs::frame::inline remote
