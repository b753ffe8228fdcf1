#include "frame/cframe/cframe_state.hpp"

#include <algorithm>
#include <utility>

#include "codec/error.hpp"
#include "frame/cframe/cframe.hpp"
#include "frame/cframe/dead_space.hpp"
#include "frame/editing/frame_edit.hpp"

namespace bloscfs::frame::inline cframe {
namespace {

/// Finds out which superseded extents (claims) share bytes with live chunks. Another program may
/// let two index entries name the same chunk, or overlapping ones.
class SharedBytes {
 public:
  explicit SharedBytes(const std::vector<Extent>& extents) {
    ExtentSet merged;
    for (const Extent& extent : extents) merged.add(extent);
    for (const auto& [start, end] : merged.extents()) claims_.push_back({{start, end - start}});
  }

  /// Records that a live chunk begins at `position`.
  void see(std::uint64_t position) {
    auto next = std::upper_bound(
        claims_.begin(), claims_.end(), position,
        [](std::uint64_t at, const Claim& claim) { return at < claim.extent.start; });
    if (next != claims_.end()) next->before = std::max(next->before, position);
    // A chunk that begins within a claim shares its bytes. A chunk that begins before the claim may
    // reach into it. Only the last one before each claim is kept, and unshared() reads its length.
    if (next != claims_.begin() && std::prev(next)->extent.end() > position)
      std::prev(next)->shared = true;
  }

  /// Returns the extents in which no chunk begins and into which the last chunk before does not
  /// reach. Does not notice an earlier chunk that reaches further than the last one.
  template <typename EndOf>
  std::vector<Extent> unshared(const EndOf& end_of) {
    std::vector<Extent> result;
    std::uint64_t before = 0;
    for (const Claim& claim : claims_) {
      before = std::max(before, claim.before);
      if (!claim.shared && (before == 0 || end_of(before) <= claim.extent.start))
        result.push_back(claim.extent);
    }
    return result;
  }

 private:
  struct Claim {
    Extent extent;
    std::uint64_t before = 0;  ///< start of the last chunk before it; 0: none
    bool shared = false;
  };
  std::vector<Claim> claims_;
};

void look_for_dead_space(CframeState& state, codec::BlockDecoder& decoder) {
  CframeNotes& notes = state.notes;
  try {
    const DeadSpace found = find_dead_space(*state.current, state.chunks_at(), decoder);
    notes.space.add_dead(found.extents, notes.untouched_since);
    if (found.chunks_are_apart) notes.space.trust_chunks();
    notes.largest_chunk = std::max(notes.largest_chunk, found.largest_chunk);
  } catch (const codec::Error&) {
    // Without a readable index it is unknown which space is in use.
  }
}

}  // namespace

void open_current(CframeState& state) {
  OpenSettings settings;
  // Opened by its name, so that the snapshot finds the sidecar.
  settings.name = state.name;
  settings.directory = state.directory->descriptor();
  state.current = open_cframe(state.file, settings, state.expected);
  state.expected = state.current->expected();
  state.notes.space.watch(state.current);
}

void find_old_space(CframeState& state, codec::BlockDecoder& decoder) {
  if (std::exchange(state.notes.needs_space_search, false)) look_for_dead_space(state, decoder);
  if (state.notes.sync_is_due && state.notes.space.dead_size() > 0) state.file->sync();
  state.notes.sync_is_due = false;
}

void resolve_doubtful(CframeState& state, codec::BlockDecoder& decoder) {
  if (state.notes.space.doubtful().empty()) return;
  const FrameSnapshot& frame = *state.current;
  SharedBytes claims(state.notes.space.doubtful());
  const std::uint64_t chunks_at = state.header_len;
  const auto table = frame.index();
  try {
    for (std::int64_t page = 0; table && page < table->page_count(); ++page)
      for (const std::int64_t entry : table->read_page(page, decoder).entries)
        if (entry >= 0) claims.see(chunks_at + static_cast<std::uint64_t>(entry));
    state.notes.space.resolve_doubtful(claims.unshared([&](std::uint64_t position) {
      const StoredAt at{position, static_cast<std::uint64_t>(INT32_MAX)};
      return position +
             static_cast<std::uint64_t>(read_chunk_header(*frame.source(), at, {}).cbytes);
    }));
  } catch (const codec::Error&) {
    // Without a readable index it is unknown which space is in use. No doubtful space is used
    // again.
    state.notes.space.resolve_doubtful({});
  }
}

}  // namespace bloscfs::frame::inline cframe
