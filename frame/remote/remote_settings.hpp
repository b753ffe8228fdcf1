#pragma once
// How what is behind a URL is to be asked for.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "frame/remote/s3_credentials.hpp"

namespace bloscfs::frame::inline remote {

struct RemoteSettings {
  std::string endpoint;       ///< of s3://: URL of the store; empty: Amazon's for the region
  std::string region;         ///< empty: as the environment says, else us-east-1
  bool virtual_host = false;  ///< the bucket stands in the host's name
  bool anonymous = false;     ///< nothing is signed
  /// Of s3://; nothing: as find_credentials() says.
  std::optional<S3Credentials> credentials = std::nullopt;
  std::string cafile;  ///< whom to trust in place of the system's authorities
  std::string netrc;   ///< file with HTTP users and passwords; empty: none
  unsigned connections = 16;
  std::size_t most_under_way = std::size_t{32} << 20;  ///< bytes that are asked for, or held
  std::chrono::seconds retry_time{60};
  std::string disk_cache;  ///< folder; empty: none
  std::uint64_t disk_cache_size = std::uint64_t{10} << 30;
  bool writable = false;
  /// Is told, by any thread, what is worth a line in the log. May be empty.
  std::function<void(const std::string&)> notice;
};

}  // namespace bloscfs::frame::inline remote
