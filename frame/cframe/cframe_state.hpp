#pragma once
// The state that a writer of a contiguous frame keeps between transactions.

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

/// Which chunks a commit moves in addition to those that were put.
enum class ChunkMoves {
  as_needed,  ///< from the end of the frame into free space, if the frame would get too long
  to_end,     ///< all behind the first free space, so that all free space is in one piece
  to_front,   ///< into free space, as many as possible
  pack,       ///< into free space, without gaps
  off_front,  ///< from before front_end to the end
};

/// When a commit writes a new file that takes the old one's place.
enum class NewFile {
  if_needed,   ///< for changes that are impossible in place
  if_shorter,  ///< also if readers keep the frame from shrinking
  always,
};

/// Facts that a writer learns about its file over time. Later writers in the same mount take over
/// the notes. Space then waits for readers no longer than needed, and no length is used twice.
struct CframeNotes final : WriterNotes {
  FrameSpace space;
  FrameLengths lengths;
  /// The space that earlier writers left is not known yet. Opening must be cheap, so a commit looks
  /// for it.
  bool needs_space_search = false;
  /// The last commit of earlier writers was not later than this.
  Clock::TimePoint untouched_since{};
  /// The disk may still have an older header, which uses other chunks than the current one.
  bool sync_is_due = false;
  std::uint64_t largest_chunk = 0;  ///< stored bytes, as far as known
  /// The moves that the next commit of CframeWriter::shorten() makes.
  ChunkMoves next_moves = ChunkMoves::as_needed;
  /// With this much free space or less, no moves make the frame shorter.
  std::uint64_t unusable_free_space = 0;
  std::weak_ptr<StoreFile> file;  ///< the writer's open file

  std::size_t memory() const override { return sizeof(*this) + space.memory() + lengths.memory(); }

  /// Resets the notes on space. Called when no reader uses an earlier state.
  void restart(std::uint64_t file_size, std::uint64_t frame_len, const GracePeriod& grace) {
    space = FrameSpace(file_size, 0, grace);
    if (frame_len < file_size) space.add_dead({{frame_len, file_size - frame_len}}, {});
    needs_space_search = true;
  }
  /// Returns the length limit of a frame with `live` bytes in use. 100 MiB in chunks of up to 1 MiB
  /// gives 127 MiB.
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
  /// The trailer behind the header, for the case that the frame becomes empty. Empty if there is
  /// none. Chunks begin behind it.
  std::vector<std::uint8_t> reserve;
  CframeNotes notes;
  NewFrame planned;  ///< for a frame that does not exist yet
  /// Where the trailer of the empty frame would end (ChunkMoves::off_front).
  std::uint64_t front_end = 0;
  bool in_transaction = false;
  bool broken = false;  ///< it is unknown which state is on disk

  std::uint64_t chunks_at() const { return header_len + reserve.size(); }
};

/// Opens the frame in `state.file` as a snapshot of the writer, and registers it as a reader.
void open_current(CframeState& state);

/// Looks for the space that earlier writers left unused. Makes the current state durable before
/// that space, or the space behind the frame's end, is used.
void find_old_space(CframeState& state, codec::BlockDecoder& decoder);

/// Finds out which doubtful extents share no bytes with chunks of the current state.
void resolve_doubtful(CframeState& state, codec::BlockDecoder& decoder);

}  // namespace bloscfs::frame::inline cframe
