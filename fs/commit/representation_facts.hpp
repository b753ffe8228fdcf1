#pragma once
// What a representation is chosen by, of a frozen content.

#include "fs/commit/representation.hpp"
#include "fs/content/frozen.hpp"

namespace bloscfs::fs {

/// Borrows the request and the content. What it asks later reads the file, and takes the lock on
/// names.
RepresentationFacts representation_facts(Request& request, const Content::Frozen& frozen,
                                         const StoredPlace& place);

}  // namespace bloscfs::fs
