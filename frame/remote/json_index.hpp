#pragma once
// The directory listing of nginx in JSON: [{"name": "a", "type": "file", ...}, ...].

#include "frame/remote/index_names.hpp"

namespace bloscfs::frame::inline remote {

/// Names may have any bytes, though JSON is UTF-8. Throws RemoteError, ENOTDIR, for what is no such
/// listing.
void read_json_index(Bytes page, IndexNames& names);

}  // namespace bloscfs::frame::inline remote
