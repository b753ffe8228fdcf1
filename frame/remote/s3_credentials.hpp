#pragma once
// Credentials for an object store, and where they come from.

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
  bool operator==(const S3Credentials&) const = default;
};

inline constexpr std::size_t kMaxKey = 4096, kMaxSessionToken = 32768;

/// Returns `found` if its words can stand in a header. Throws RemoteError(EINVAL).
S3Credentials checked(S3Credentials found);

/// From the answer of a credentials process, a container's server or the instance metadata. Nothing
/// if it lacks a key. Throws RemoteError(EINVAL) if it makes no sense.
std::optional<S3Credentials> parse_json_credentials(codec::Bytes json);
/// From the answer of the Security Token Service.
std::optional<S3Credentials> parse_sts_credentials(codec::Bytes xml);

/// Where credentials come from. Thread-safe for one caller of find() and others of stop().
class CredentialsSource {
 public:
  enum class Look : std::uint8_t {
    if_changed,  ///< earlier results are given again until a file changes or they soon expire
    again        ///< a server has refused the earlier results
  };
  virtual ~CredentialsSource() = default;
  /// Blocks, for up to a minute. Nothing if there are no credentials. Throws RemoteError.
  virtual std::optional<S3Credentials> find(Look look) = 0;
  virtual bool can_change() const = 0;
  /// Lets find() end soon, which then throws, if the source can.
  virtual void stop() {}
};

/// find(if_changed). Throws RemoteError(EACCES) also if there are no credentials.
S3Credentials require_credentials(CredentialsSource& source);

/// `setting`, else AWS_REGION, AWS_DEFAULT_REGION, us-east-1. Throws RemoteError for what cannot be
/// the name of a region.
std::string find_region(const std::string& setting);

}  // namespace bloscfs::frame::inline remote
