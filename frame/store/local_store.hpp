#pragma once
// Files and directories of the local system as stores.

#include <memory>

#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline store {

/// What sync() does: what is not worth waiting for the disk can leave that to the kernel.
enum class Syncing { at_once, never };

/// `directory` is open for reading, or with O_PATH; `counters` may be null and must outlive
/// everything opened through the result.
std::shared_ptr<StoreDirectory> make_local_store(UniqueFd directory, SourceCounters* counters,
                                                 Syncing syncing = Syncing::at_once);
std::shared_ptr<StoreDirectory> make_local_store(SharedFd directory, SourceCounters* counters,
                                                 Syncing syncing = Syncing::at_once);

/// A regular file that is open for reading and writing.
std::shared_ptr<StoreFile> make_local_file(UniqueFd file);
std::shared_ptr<StoreFile> make_local_file(SharedFd file);

}  // namespace bloscfs::frame::inline store
