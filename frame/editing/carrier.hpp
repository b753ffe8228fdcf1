#pragma once
// Frames of python-blosc2 that carry something else than their contents: how to compute them, or
// where to fetch them from. Their chunks read as zeros until somebody else has put them there.

#include <optional>
#include <string>

#include "frame/container/snapshot.hpp"

namespace bloscfs::frame::inline editing {

/// True where the functions below have something to say; costs nothing.
bool may_lack_contents(const Snapshot& snapshot);

/// What a frame carries, as a noun phrase ("a lazy expression"); nullopt for ordinary frames, and
/// for proxies, whose contents may be there. Decided by its fixed metalayers.
/// Errors: std::system_error from the source.
std::optional<std::string> carried_object(const Snapshot& snapshot);

/// True for the local part of a proxy: chunks are put there as they are fetched.
bool is_proxy(const Snapshot& snapshot);

/// True if a proxy notes by itself that all its chunks were fetched, nullopt if it notes nothing:
/// then those are missing that have no stored bytes. Errors: as Snapshot::read_vlmetalayer().
std::optional<bool> notes_all_fetched(const Snapshot& snapshot, codec::BlockDecoder& decoder);

}  // namespace bloscfs::frame::inline editing
