#pragma once
// Credentials for an object store, and their sources.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline remote {

/// Never logged.
struct S3Credentials {
  std::string access_key, secret_key;
  std::string session_token;  ///< empty: none
  std::int64_t expires = 0;   ///< in seconds since 1970; 0: never
  std::string origin = {};    ///< where they were found, for messages
  bool operator==(const S3Credentials&) const = default;
};

inline constexpr std::size_t kMaxKey = 4096, kMaxSessionToken = 32768;

/// Returns `found` if its values can be sent in a header. Throws RemoteError(EINVAL) otherwise.
S3Credentials checked(S3Credentials found);

/// Parses the answer of a credentials process, a container's server or the instance metadata.
/// Returns nothing if a key is missing. Throws RemoteError(EINVAL) if a value is invalid.
std::optional<S3Credentials> parse_json_credentials(codec::Bytes json);
/// Parses the answer of the Security Token Service. Otherwise like parse_json_credentials().
std::optional<S3Credentials> parse_sts_credentials(codec::Bytes xml);

/// A source of credentials. One thread may call find() while others call stop().
class CredentialsSource {
 public:
  enum class Look : std::uint8_t {
    if_changed,  ///< earlier results stay valid until a file changes or they soon expire
    again        ///< a server has refused the earlier results
  };
  virtual ~CredentialsSource() = default;
  /// May block for up to a minute. Returns nothing if there are no credentials. Throws RemoteError.
  virtual std::optional<S3Credentials> find(Look look) = 0;
  virtual bool can_change() const = 0;
  /// Makes find() end soon by throwing, if the source can.
  virtual void stop() {}
};

/// Calls find(if_changed). Throws RemoteError(EACCES) if there are no credentials.
S3Credentials require_credentials(CredentialsSource& source);

/// Returns `setting`; if that is empty, AWS_REGION, AWS_DEFAULT_REGION or us-east-1. Throws
/// RemoteError if the result cannot be a region's name.
std::string find_region(const std::string& setting);

}  // namespace bloscfs::frame::inline remote
