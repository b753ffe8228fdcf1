#pragma once
// The part of a page that tells of one frame.

#include <exception>
#include <string>

#include "tools/report/markup.hpp"
#include "tools/verifier.hpp"

namespace bloscfs::tools {

struct Section {
  std::string file;  ///< as it was named, but for what of a URL is secret
  Health health = Health::ok;
  std::string summary;      ///< of what is wrong, in a few words; empty where nothing is
  bool has_content = true;  ///< false: nothing is known but that it cannot be read
  Markup body;
};

/// Of a frame that can be opened. `id` is the section's, and begins those of its elements. Errors:
/// std::system_error, Error.
Section frame_section(const std::string& name, const std::string& id, Input& input);

/// Of one that cannot, for a `problem`: what a repair would bring back, where it is a file or a
/// directory here, and not too large to be searched.
Section remains_section(const std::string& file, const std::string& id,
                        const std::exception& problem);

}  // namespace bloscfs::tools
