#pragma once
// What a representation is chosen by, of a frozen content.

#include "fs/commit/representation.hpp"
#include "fs/content/frozen.hpp"

namespace bloscfs::fs {

/// Borrows the content. What it asks later reads the file, and takes the lock on names.
RepresentationFacts representation_facts(const Content::Frozen& frozen, const StoredPlace& place);

}  // namespace bloscfs::fs
