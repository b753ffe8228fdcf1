#pragma once
// Stores the bytes of a plain file as a flat frame.

#include <memory>
#include <string>

#include "frame/byte_store.hpp"
#include "fs/content.hpp"

namespace bloscfs::fs {

/// Makes a complete, durable frame of the file's bytes under a temporary name, which is returned.
/// It takes over the attributes of `name`. Errors as Transaction's; then nothing is left behind.
std::string store_as_frame(const frame::ByteSource& bytes,
                           const std::shared_ptr<frame::StoreDirectory>& directory,
                           const std::string& name, const ContentServices& services);

}  // namespace bloscfs::fs
