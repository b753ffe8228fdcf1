#pragma once
// What a writer of a contiguous frame knows of it between transactions.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frame/container/frame_writer.hpp"
#include "frame/editing/frame_space.hpp"
#include "frame/editing/new_frame.hpp"
#include "frame/reading/expected_state.hpp"
#include "frame/reading/frame_snapshot.hpp"
#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline cframe {

/// Which chunks a commit moves that nobody has put.
enum class ChunkMoves {
  as_needed,  ///< from the frame's end into free space, where the frame would get long
  to_end,     ///< all behind the first free space, so that all free space becomes one
  to_front,   ///< into free space, as many as possible
  pack,       ///< the same, without gaps
  off_front,  ///< to the end, those that stand before front_end
};

/// When a commit writes a new file that takes the old one's place.
enum class NewFile {
  if_needed,   ///< for what cannot be changed in place
  if_shorter,  ///< the same, and where readers keep the frame from getting shorter
  always,
};

/// What a writer finds out about its file over time. It goes on from writer to writer of a mount,
/// so that space waits for readers no longer than it has to, and no length is used twice.
struct CframeNotes final : WriterNotes {
  FrameSpace space;
  FrameLengths lengths;
  /// Space that earlier writers left is not known yet: opening is cheap, and a commit looks for it.
  bool look_is_due = false;
  /// The last commit of earlier writers was not later.
  Clock::TimePoint untouched_since{};
  /// The disk may still have an older header, which reaches other chunks than the one that is read.
  bool sync_is_due = false;
  std::uint64_t largest_chunk = 0;                ///< stored bytes, as far as known
  ChunkMoves next_moves = ChunkMoves::as_needed;  ///< that may make the frame shorter
  /// With this much free space or less, no moves make the frame shorter.
  std::uint64_t useless_free = 0;
  std::weak_ptr<StoreFile> file;  ///< that the writer had

  std::size_t memory() const override { return sizeof(*this) + space.memory() + lengths.memory(); }

  /// Nobody reads an earlier state; what is free is to be looked for again.
  void restart(std::uint64_t file_size, std::uint64_t frame_len, const GracePeriod& grace) {
    space = FrameSpace(file_size, 0, grace);
    if (frame_len < file_size) space.add_dead({{frame_len, file_size - frame_len}}, {});
    look_is_due = true;
  }
  /// Most bytes that a frame of so many live bytes takes: 100 MiB in chunks of up to 1 MiB, 127
  /// MiB.
  std::uint64_t max_frame_len(std::uint64_t live) const {
    return live + live / 4 + 2 * std::min(largest_chunk, live);
  }
};

struct CframeState {
  std::shared_ptr<StoreDirectory> directory;
  std::string name;
  WriterSettings settings;
  std::shared_ptr<StoreFile> file;
  std::shared_ptr<const FrameSnapshot> current;  ///< null before the first commit
  std::shared_ptr<ExpectedState> expected;       ///< null before the first commit
  std::uint64_t header_len = 0;
  /// The trailer that stands behind the header in case that the contents go; empty if there is
  /// none. Chunks begin behind it.
  std::vector<std::uint8_t> reserve;
  CframeNotes notes;
  NewFrame planned;  ///< a frame that does not exist yet
  /// Where the trailer would end that the frame needs without contents (ChunkMoves::off_front).
  std::uint64_t front_end = 0;
  bool in_transaction = false;
  bool broken = false;  ///< nobody knows which state is on disk

  std::uint64_t chunks_at() const { return header_len + reserve.size(); }
};

/// Opens the frame in `state.file` as a snapshot of the writer and begins to watch it.
void open_current(CframeState& state);

/// Looks for the space that earlier writers left unused. Before that space is used, or what lies
/// behind the frame's end, the state that does not need it is made durable.
void find_old_space(CframeState& state, codec::BlockDecoder& decoder);

/// Finds out which superseded extents share no bytes with chunks of the present state.
void resolve_doubtful(CframeState& state, codec::BlockDecoder& decoder);

}  // namespace bloscfs::frame::inline cframe
