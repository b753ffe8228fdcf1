#include "frame/remote/aws_profiles.hpp"

#include <algorithm>

namespace bloscfs::frame::inline remote {
namespace {

constexpr std::string_view kSpaces = " \t\r";

std::string_view without_spaces(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

/// Returns the name of the section's profile; empty if the section is not a profile.
std::string profile_of(std::string_view line, ProfileFile kind) {
  constexpr std::string_view kProfile = "profile";
  const std::size_t end = line.find(']');
  if (end == std::string_view::npos) return {};
  std::string_view name = without_spaces(line.substr(1, end - 1));
  if (kind == ProfileFile::credentials || name == "default") return std::string(name);
  const bool is_profile = name.starts_with(kProfile) && name.size() > kProfile.size() &&
                          kSpaces.find(name[kProfile.size()]) != std::string_view::npos;
  return is_profile ? std::string(without_spaces(name.substr(kProfile.size()))) : std::string();
}

}  // namespace

void add_profiles(AwsProfiles& profiles, std::string_view text, ProfileFile kind) {
  AwsProfile* profile = nullptr;
  AwsProfile ignored;
  std::size_t indent = 0;  // of the last setting; settings nested in it are indented further
  bool has_setting = false;
  while (!text.empty()) {
    const std::string_view raw = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(raw.size() + 1, text.size()));
    const std::string_view line = without_spaces(raw);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      const std::string name = profile_of(line, kind);
      profile = name.empty() ? &ignored : &profiles[name];
      has_setting = false;
      continue;
    }
    const std::size_t equals = line.find('=');
    const std::size_t own_indent = raw.find_first_not_of(kSpaces);
    if (profile == nullptr || equals == std::string_view::npos) continue;
    if (has_setting && own_indent > indent) continue;
    has_setting = true;
    indent = own_indent;
    profile->emplace(without_spaces(line.substr(0, equals)),
                     without_spaces(line.substr(equals + 1)));
  }
}

}  // namespace bloscfs::frame::inline remote
