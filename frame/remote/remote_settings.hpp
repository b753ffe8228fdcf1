#pragma once
// How to access the objects behind a URL.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "frame/remote/http_request.hpp"
#include "frame/remote/s3_credentials.hpp"

namespace bloscfs::frame::inline remote {

struct RemoteSettings {
  std::string endpoint;       ///< of s3://: URL of the store; empty: Amazon's for the region
  std::string region;         ///< empty: as the environment says, otherwise us-east-1
  bool virtual_host = false;  ///< the bucket is part of the host name
  bool anonymous = false;     ///< requests are not signed
  /// For s3://; null: credentials_lookup().
  std::shared_ptr<CredentialsSource> credentials;
  std::string cafile;  ///< certificate authorities to trust instead of the system's
  std::string netrc;   ///< file with HTTP users and passwords; empty: none
  std::string bearer;  ///< for http:// and https://; empty: none
  std::string proxy;   ///< URL; empty: none
  unsigned connections = 16;
  std::size_t max_bytes_in_flight = std::size_t{32} << 20;  ///< bytes that are requested or held
  std::chrono::seconds retry_time{60};
  bool retries_first_contact = false;
  std::string disk_cache;  ///< folder; empty: none
  std::uint64_t disk_cache_size = std::uint64_t{10} << 30;
  bool writable = false;
  bool may_be_empty = false;  ///< for s3://: the prefix may have no keys
  /// Called by any thread with a line for the log. May be empty.
  std::function<void(const std::string&)> notice;
};

/// Reads a token from the first line of a file. Throws RemoteError: EACCES if others than the owner
/// may read the file, EINVAL if it has no token.
std::string read_bearer(const std::string& path);

/// Throws UrlError unless `url` has the form http://HOST:PORT.
void check_proxy(const std::string& url);

/// Returns the settings of a client without a signer.
HttpSettings http_settings(const RemoteSettings& settings);

/// Returns a lookup by the environment and these settings. See take_aws_environment().
std::shared_ptr<CredentialsSource> credentials_lookup(const RemoteSettings& settings);

}  // namespace bloscfs::frame::inline remote
