#pragma once
// Who asks an object store, as the environment or a file of its owner says.

#include <optional>
#include <string>

namespace bloscfs::frame::inline remote {

/// Never logged.
struct S3Credentials {
  std::string access_key, secret_key;
  std::string session_token;  ///< empty: none
};

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, else the shared credentials file
/// (AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials; AWS_PROFILE). What is secret is taken out of
/// the environment, and overwritten there, so that no child has it; later calls remember it.
/// Nothing where there are none. Throws RemoteError where what is there cannot be used. For no
/// thread while others use the environment.
std::optional<S3Credentials> find_credentials();

/// Of a shared credentials file; nothing where the profile is not there or lacks a key.
std::optional<S3Credentials> parse_credentials(const std::string& text, const std::string& profile);

/// `setting`, else AWS_REGION, AWS_DEFAULT_REGION, us-east-1. Throws RemoteError for what cannot be
/// the name of a region.
std::string find_region(const std::string& setting);

}  // namespace bloscfs::frame::inline remote
