#pragma once
// Frames of python-blosc2 that describe how to compute their contents, or where to fetch them.
// Their chunks read as zeros until another program has filled them.

#include <cstdint>
#include <optional>
#include <string>

#include "frame/container/snapshot.hpp"

namespace bloscfs::frame::inline editing {

/// False if carried_object() returns nullopt and is_proxy() is false. Costs no reads.
bool may_lack_contents(const Snapshot& snapshot);

/// Returns what a frame carries, as a noun phrase ("a lazy expression"). nullopt for ordinary
/// frames, and for proxies, which may have their contents. Looks only at the fixed metalayers.
/// Errors: std::system_error from the source.
std::optional<std::string> carried_object(const Snapshot& snapshot);

/// True for the local part of a proxy. python-blosc2 stores contents in it as it fetches them.
bool is_proxy(const Snapshot& snapshot);

/// How much of its contents a proxy has fetched, according to its own notes.
struct FetchedPart {
  std::int64_t missing = 0;
  std::int64_t all = 0;
  const char* unit = "chunks";  ///< or "blocks"
};

/// Returns nullopt if a proxy keeps no notes. Its missing chunks are then those without stored
/// bytes. If python-blosc2 would not trust the notes, everything counts as missing. Errors: as
/// Snapshot::read_vlmetalayer().
std::optional<FetchedPart> fetched_part(const Snapshot& snapshot, codec::BlockDecoder& decoder);

/// True for an array that a server is still receiving, chunk by chunk. Missing chunks are
/// uninitialised (SpecialValue::uninit). Errors: as Snapshot::read_vlmetalayer().
bool is_being_filled(const Snapshot& snapshot, codec::BlockDecoder& decoder);

}  // namespace bloscfs::frame::inline editing
