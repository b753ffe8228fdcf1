#pragma once
// Commits to a contiguous frame. New bytes go where no state uses the space, then the commit
// switches the header (frame/formats/cframe.md, "Commit"). If that is not possible, a new file
// takes the old one's name.

#include <memory>
#include <optional>
#include <vector>

#include "frame/cframe/cframe_rewrite.hpp"
#include "frame/cframe/cframe_state.hpp"
#include "frame/cframe/kept_chunks.hpp"
#include "frame/editing/frame_tail.hpp"
#include "frame/editing/frame_transaction.hpp"
#include "frame/store/container_lock.hpp"
#include "frame/store/file_start.hpp"

namespace bloscfs::frame::inline cframe {

/// A commit to a contiguous frame. FrameTransaction ensures the order of the calls. `Step` also
/// divides publish(): it tells which header the file has, and so what to undo if the commit ends
/// early.
///
/// | step       | the file has         | ends with      | the destructor until then              |
/// |------------|----------------------|----------------|----------------------------------------|
/// | changing   | the old header       | publish()      | frees the new bytes; cuts the file     |
/// | publishing | the old header; new  | the last check | frees the new bytes; if a new file has |
/// |            | frames: own header   | of the file    | the name, marks the writer as broken   |
/// | switching  | either header        | the write      | distrusts the new bytes; writes the    |
/// |            |                      |                | old header                             |
/// | switched   | the new header       | finish()       | as in switching, unless another        |
/// |            |                      |                | program has changed the new header     |
/// | finished   | the new header       |                | does nothing                           |
///
/// An error while undoing leaves the writer broken, and so does an error in finish(). New frames
/// and frames that are rewritten to a new file go from `publishing` to `finished`, because no
/// header is switched.
class CframeCommit final : public CommitTarget {
 public:
  /// `state` is borrowed.
  CframeCommit(CframeState& state, ContainerLock lock, NewFile new_file, ChunkMoves moves);
  ~CframeCommit() override;

  std::vector<std::int64_t> store_chunks(std::span<const NumberedChunk> chunks) override;
  void discard_chunk(const PutChunk& chunk) override;
  void write(FrameEdit& edit, const std::optional<FileTimes>& times) override;
  bool moves_chunks() const override { return has_moved_; }
  void begin_flush() override;
  void flush() override;
  bool can_publish() const override { return !rewritten_ || rewritten_->can_publish(); }
  FileStamp publish(const std::optional<FileTimes>& times) override;
  std::shared_ptr<const Snapshot> finish() override;

 private:
  enum class Step { changing, publishing, switching, switched, finished };

  std::vector<std::uint8_t> new_header(const FrameEdit& edit, bool has_vlmetalayers) const;
  bool must_rewrite(const FrameEdit& edit);
  /// True if the reserve behind the header is exactly the trailer that the frame needs once it is
  /// empty.
  bool fits_reserve(const FrameEdit& edit) const;
  /// True if the current state uses no bytes where the trailer of the empty frame has to be, right
  /// behind the header.
  bool is_front_free(const FrameEdit& edit);
  /// Writes bytes to free space, and returns their position.
  std::uint64_t store(codec::Bytes bytes);
  void give_back(const Extent& extent);
  void write_in_place(const FrameEdit& edit);
  void write_tail(const FrameEdit& edit, FrameTail& tail);
  bool write_tail_at(const Extent& room, EditedIndex& entries, FrameTail& tail);
  void write_empty_tail(const FrameEdit& edit, FrameTail& tail);
  /// Prepares the trailer of an empty frame whose old state is empty too. Both trailers have the
  /// same place, so one write replaces header and trailer.
  void prepare_front(FrameTail& tail);
  /// True if one write can replace header and trailer atomically: those of both states are in the
  /// first sector.
  bool fits_first_sector(const FrameEdit& edit);
  void move_chunks(FrameEdit& edit);
  void rewrite_frame(const FrameEdit& edit);
  /// Estimates of the frame's size before its index is written.
  struct ExpectedLength {
    std::uint64_t live = 0;
    std::uint64_t tail = 0;  ///< index and trailer
    std::uint64_t most = 0;  ///< limit for the frame's length
  };
  ExpectedLength expected_length(const FrameEdit& edit, const ExtentSet& gone) const;
  std::uint64_t expected_end(const ExpectedLength& length, const ExtentSet& gone) const;
  bool should_rewrite_for_readers(const FrameEdit& edit) const;
  void move_to_front(FrameEdit& edit);
  void move_to_end(FrameEdit& edit);
  void move_off_front(FrameEdit& edit);
  struct FoundChunk {
    std::int64_t number;
    Extent extent;
    std::int32_t nbytes;
  };
  FoundChunk find_chunk(const KeptChunk& chunk, const FrameEdit& edit) const;
  void move_chunk(const FoundChunk& chunk, const Extent& room, FrameEdit& edit);
  /// Returns the superseded extents that hold no live chunk.
  ExtentSet gone() const;
  std::vector<Extent> superseded(const FrameEdit& edit);
  void note_largest_chunk();
  void take_back() noexcept;
  void restore_time() noexcept;
  void cut_added_space();
  void open_new();
  void open_written();
  ByteSink& file() { return start_ ? static_cast<ByteSink&>(*start_) : *state_.file; }

  CframeState& state_;
  ContainerLock lock_;
  NewFile new_file_;
  ChunkMoves moves_;
  std::unique_ptr<CframeRewrite> rewritten_;
  codec::BlockDecoder decoder_;
  ExtentSet chunks_;                      ///< chunks that this transaction has put
  Extent tail_;                           ///< index and trailer; empty before write()
  std::vector<std::uint8_t> tail_bytes_;  ///< bytes of tail_; empty if they are too many
  std::optional<FileStart> start_;        ///< of a new frame
  FileStamp published_;                   ///< of a new frame, after publish()
  FrameInfo info_;                        ///< of the new state, once written
  std::vector<Extent> superseded_;
  bool all_dropped_ = false;  ///< the new state has no chunk of the old one
  bool has_moved_ = false;
  bool readers_hold_space_ = false;  ///< readers of earlier states still need dead space
  std::uint64_t largest_put_ = 0, largest_gone_ = 0;  ///< stored bytes of a chunk
  std::vector<std::uint8_t> old_header_, new_header_;
  /// Headers with the trailers behind them. Empty unless prepare_front() replaces both.
  std::vector<std::uint8_t> old_front_, new_front_;
  Step step_ = Step::changing;
};

}  // namespace bloscfs::frame::inline cframe
