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

/// Adds what a file has; what `profiles` has already stays. Lines that make no sense, and nested
/// settings, are left out.
void add_profiles(AwsProfiles& profiles, std::string_view text, ProfileFile kind);

}  // namespace bloscfs::frame::inline remote
