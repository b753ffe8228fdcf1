#pragma once
// Commits to a contiguous frame: new bytes go where no state reaches, then the header is switched
// (frame/formats/cframe.md, "Commit"); or, where that is not possible, a new file takes the old
// one's name.

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

/// FrameTransaction keeps the order of the calls. `Step` is finer: within publish() it tells which
/// header the file has, and so what has to be undone where the commit ends early.
///
/// | step       | what the file has    | ends with     | what the destructor does before that    |
/// |------------|----------------------|---------------|-----------------------------------------|
/// | changing   | the old header       | publish()     | frees the new bytes; cuts the file      |
/// | publishing | the old header; of a | the last look | frees the new bytes; where a new file   |
/// |            | new frame its own    | at the file   | has the name: the writer is broken      |
/// | switching  | one of the two       | the write     | distrusts the new bytes, and writes the |
/// |            |                      |               | old header                              |
/// | switched   | the new header       | finish()      | the same, unless another program has    |
/// |            |                      |               | changed the new one                     |
/// | finished   | the new header       |               | nothing                                 |
///
/// An error while it undoes something leaves the writer broken, and so does one in finish().
/// A new frame, and one that is written anew to a file of its own, go from `publishing` to
/// `finished`: no header is switched.
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
  FileStamp publish(const std::optional<FileTimes>& times) override;
  std::shared_ptr<const Snapshot> finish() override;

 private:
  enum class Step { changing, publishing, switching, switched, finished };

  std::vector<std::uint8_t> new_header(const FrameEdit& edit, bool has_vlmetalayers) const;
  bool must_rewrite(const FrameEdit& edit);
  /// Of a frame without contents: its trailer is what stands behind the header already.
  bool fits_reserve(const FrameEdit& edit) const;
  /// Nothing that the present state reaches is where that trailer is to be.
  bool is_front_free(const FrameEdit& edit);
  /// Returns where.
  std::uint64_t store(codec::Bytes bytes);
  void give_back(const Extent& extent);
  void write_in_place(const FrameEdit& edit);
  void write_tail(const FrameEdit& edit, FrameTail& tail);
  bool write_tail_at(const Extent& room, EditedIndex& entries, FrameTail& tail);
  void write_empty_tail(const FrameEdit& edit, FrameTail& tail);
  /// The same behind a state without contents, whose trailer is where this one has to be: it gets
  /// there with the header, in one write.
  void prepare_front(FrameTail& tail);
  /// True if that can be done: both states' headers and trailers are in the first sector.
  bool fits_first_sector(const FrameEdit& edit);
  void move_chunks(FrameEdit& edit);
  void write_anew(const FrameEdit& edit);
  /// Bytes that the frame will have, as far as that can be told before its index is written.
  struct ExpectedLength {
    std::uint64_t live = 0;
    std::uint64_t tail = 0;  ///< index and trailer
    std::uint64_t most = 0;  ///< that it should take
  };
  ExpectedLength expected_length(const FrameEdit& edit, const ExtentSet& gone) const;
  std::uint64_t expected_end(const ExpectedLength& length, const ExtentSet& gone) const;
  bool gets_too_long_for_readers(const FrameEdit& edit) const;
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
  /// Superseded extents of which nothing is needed.
  ExtentSet gone() const;
  std::vector<Extent> superseded(const FrameEdit& edit);
  void note_largest_chunk();
  void take_back() noexcept;
  void cut_what_was_added();
  void open_new();
  void open_written();
  ByteSink& file() { return start_ ? static_cast<ByteSink&>(*start_) : *state_.file; }

  CframeState& state_;
  ContainerLock lock_;
  NewFile new_file_;
  ChunkMoves moves_;
  std::unique_ptr<CframeRewrite> rewritten_;
  codec::BlockDecoder decoder_;
  ExtentSet chunks_;                      ///< that this transaction has put
  Extent tail_;                           ///< index and trailer; empty before write()
  std::vector<std::uint8_t> tail_bytes_;  ///< the same; empty where they are many
  std::optional<FileStart> start_;        ///< of a new frame
  FileStamp published_;                   ///< of a new frame, as publish() has left it
  FrameInfo info_;                        ///< as it will be, once written
  std::vector<Extent> superseded_;
  bool all_dropped_ = false;  ///< no chunk of the old state is in the new one
  bool has_moved_ = false;
  bool readers_wait_ = false;  ///< readers of earlier states still need space that is dead
  std::uint64_t largest_put_ = 0, largest_gone_ = 0;  ///< stored bytes of a chunk
  std::vector<std::uint8_t> old_header_, new_header_;
  /// The same with the trailers behind them; empty where these stay (prepare_front()).
  std::vector<std::uint8_t> old_front_, new_front_;
  Step step_ = Step::changing;
};

}  // namespace bloscfs::frame::inline cframe
