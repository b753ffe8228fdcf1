#pragma once
// Frames of python-blosc2 that carry something else than their contents: how to compute them, or
// where to fetch them from. Their chunks read as zeros until somebody else has put them there.

#include <cstdint>
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

/// True for the local part of a proxy: contents are put there as they are fetched.
bool is_proxy(const Snapshot& snapshot);

/// How much of its contents a proxy has fetched, by its own notes.
struct FetchedPart {
  std::int64_t missing = 0;
  std::int64_t all = 0;
  const char* unit = "chunks";  ///< or "blocks"
};

/// Nothing where a proxy notes nothing: then those chunks are missing that have no stored bytes.
/// Notes that python-blosc2 would not believe say that nothing was fetched. Errors: as
/// Snapshot::read_vlmetalayer().
std::optional<FetchedPart> fetched_part(const Snapshot& snapshot, codec::BlockDecoder& decoder);

/// True for an array that a server still receives, chunk by chunk: those without a value
/// (SpecialValue::uninit) are missing. Errors: as Snapshot::read_vlmetalayer().
bool is_being_filled(const Snapshot& snapshot, codec::BlockDecoder& decoder);

}  // namespace bloscfs::frame::inline editing
