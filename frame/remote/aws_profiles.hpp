#pragma once
// The shared files in which AWS's tools keep their profiles.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace bloscfs::frame::inline remote {

using AwsProfile = std::map<std::string, std::string>;  ///< settings by name
using AwsProfiles = std::map<std::string, AwsProfile>;

enum class ProfileFile : std::uint8_t {
  credentials,  ///< sections are [NAME]
  config        ///< sections are [profile NAME] and [default]
};

/// Adds the settings of a file. Settings that `profiles` already has stay. Ignores invalid lines
/// and nested settings.
void add_profiles(AwsProfiles& profiles, std::string_view text, ProfileFile kind);

}  // namespace bloscfs::frame::inline remote
