#pragma once
// Collects the facts about a frozen content from which its representation is chosen.

#include "fs/commit/representation.hpp"
#include "fs/content/frozen.hpp"

namespace bloscfs::fs {

/// Borrows the request and the content. The functions in the result read the file, and take the
/// lock on names.
RepresentationFacts representation_facts(Request& request, const Content::Frozen& frozen,
                                         const StoredPlace& place);

}  // namespace bloscfs::fs
