#pragma once
// The environment variables from which AWS's SDKs take credentials.

#include <string>

#include "frame/remote/s3_credentials.hpp"

namespace bloscfs::frame::inline remote {

/// Texts are empty if the variable is not set. Paths are absolute.
struct AwsEnvironment {
  S3Credentials credentials;  ///< without an access key if the variables are not set
  std::string credentials_file, config_file;
  std::string profile;  ///< AWS_PROFILE
  std::string web_identity_token_file, role_arn, role_session_name;
  std::string container_full_uri, container_relative_uri;
  std::string container_token, container_token_file;
  std::string metadata_endpoint;
  bool metadata_disabled = false;
  std::string sts_endpoint;

  bool has_credentials() const { return !credentials.access_key.empty(); }
};

/// Reads the variables. Removes the secrets from the environment and overwrites them there, so that
/// child processes do not inherit them and /proc does not show them. Later calls return the same
/// secrets. No other thread may use the environment during the call. Throws RemoteError if the
/// values cannot be used.
AwsEnvironment take_aws_environment();

}  // namespace bloscfs::frame::inline remote
