#pragma once
// The style and the script of the page: tools/report/page.css and page.js, built in by embed.py.

#include <string_view>

namespace bloscfs::tools::assets {

/// Texts that can stand in elements unchanged, and their digests for a Content-Security-Policy:
/// "sha256-...".
extern const std::string_view style, style_digest;
extern const std::string_view script, script_digest;

}  // namespace bloscfs::tools::assets
