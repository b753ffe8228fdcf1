#pragma once
// Stores in the local filesystem.

#include <memory>

#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline store {

/// Whether sync() waits for the disk. Files that need not survive a crash can use `never`.
enum class Syncing { at_once, never };

/// `directory` is open for reading, or with O_PATH. `counters` may be null. Otherwise it must
/// outlive everything that is opened through the result.
std::shared_ptr<StoreDirectory> make_local_store(UniqueFd directory, SourceCounters* counters,
                                                 Syncing syncing = Syncing::at_once);
std::shared_ptr<StoreDirectory> make_local_store(SharedFd directory, SourceCounters* counters,
                                                 Syncing syncing = Syncing::at_once);

/// The file must be a regular file that is open for reading and writing.
std::shared_ptr<StoreFile> make_local_file(UniqueFd file);
std::shared_ptr<StoreFile> make_local_file(SharedFd file);

}  // namespace bloscfs::frame::inline store
