#pragma once
// The directory listing of nginx in JSON: [{"name": "a", "type": "file", ...}, ...].

#include "frame/remote/index_names.hpp"

namespace bloscfs::frame::inline remote {

/// Adds the names of a listing to `names`. Names may have any bytes, though JSON is UTF-8. Throws
/// RemoteError(ENOTDIR) if the page is not such a listing.
void read_json_index(Bytes page, IndexNames& names);

}  // namespace bloscfs::frame::inline remote
