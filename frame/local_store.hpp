#pragma once
// Files and directories of the local system as stores.

#include <memory>

#include "frame/byte_store.hpp"

namespace bloscfs::frame {

/// `directory` is open for reading; `counters` may be null and must outlive everything opened
/// through the result.
std::shared_ptr<StoreDirectory> make_local_store(UniqueFd directory, SourceCounters* counters);

}  // namespace bloscfs::frame
