#pragma once
// The page's style and script: tools/report/page.css and page.js, put in by embed.py.

#include <string_view>

namespace bloscfs::tools::assets {

/// Texts that may stand in elements as they are, and what a Content-Security-Policy calls them by:
/// "sha256-...".
extern const std::string_view style, style_digest;
extern const std::string_view script, script_digest;

}  // namespace bloscfs::tools::assets
