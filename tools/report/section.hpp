#pragma once
// The part of a page about one frame.

#include <exception>
#include <string>

#include "tools/report/markup.hpp"
#include "tools/verifier.hpp"

namespace bloscfs::tools {

struct Section {
  std::string file;  ///< as the user named it, without the secrets of a URL
  Health health = Health::ok;
  std::string summary;      ///< what is wrong, in a few words; empty if nothing is
  bool has_content = true;  ///< false if nothing could be read
  Markup body;
};

/// Returns the section of a frame that could be opened. `id` is the section's id and the prefix of
/// the ids of its elements. Throws std::system_error and Error.
Section frame_section(const std::string& name, const std::string& id, Input& input);

/// Returns the section of a frame that could not be opened because of `problem`. For a local file
/// or directory that is small enough to be searched, says what a repair would restore.
Section remains_section(const std::string& file, const std::string& id,
                        const std::exception& problem);

}  // namespace bloscfs::tools
