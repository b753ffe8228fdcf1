#pragma once
// A transaction on a frame of either kind. It checks the rules and leaves the storing to a commit
// target.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codec/block_decoder.hpp"
#include "frame/container/transaction.hpp"
#include "frame/editing/frame_edit.hpp"

namespace bloscfs::frame::inline editing {

/// Stores the bytes of a transaction. The destructor undoes what is not finished.
class CommitTarget {
 public:
  virtual ~CommitTarget() = default;
  /// Stores chunks where no state uses the space. Returns their index entries.
  virtual std::vector<std::int64_t> store_chunks(std::span<const NumberedChunk> chunks) = 0;
  /// Waits for chunks that are being stored in the background. Some of them may end up elsewhere:
  /// returns a map from the entries that store_chunks() returned to the new ones. After an error
  /// the caller can only destroy the transaction.
  virtual std::map<std::int64_t, std::int64_t> await_chunks() { return {}; }
  /// Frees a chunk that the transaction no longer needs.
  virtual void discard_chunk(const PutChunk& chunk) = 0;
  // The steps of Transaction.
  virtual void begin_flush() {}
  /// `times` are for a file that becomes visible before publish() sets its times. May move chunks
  /// of the base, which it then adds to `edit`.
  virtual void write(FrameEdit& edit, const std::optional<FileTimes>& times) = 0;
  /// True if write() has moved chunks.
  virtual bool moves_chunks() const { return false; }
  virtual void flush() = 0;
  /// See Transaction::can_publish().
  virtual bool can_publish() const { return true; }
  /// Also sets the times, if there are any, in the same step.
  virtual FileStamp publish(const std::optional<FileTimes>& times) = 0;
  virtual std::shared_ptr<const Snapshot> finish() = 0;
};

class FrameTransaction final : public Transaction {
 public:
  FrameTransaction(FrameEdit edit, std::unique_ptr<CommitTarget> target);

  const FrameInfo& info() const override { return edit_.info(); }
  void put_chunks(std::span<const NumberedChunk> chunks) override;
  void put_special(std::int64_t number, codec::SpecialValue value) override;
  void resize(std::int64_t nbytes) override;
  void set_chunksize(std::int32_t chunksize, std::int32_t blocksize) override;
  void set_shape(const std::vector<std::int64_t>& shape) override;
  void set_vlmetalayer(const std::string& name, codec::Bytes content) override;
  void copy_vlmetalayer(const Snapshot& from, const MetalayerEntry& entry) override;
  bool remove_vlmetalayer(const std::string& name) override;
  void set_metalayer(const std::string& name, codec::Bytes content) override;
  bool remove_metalayer(const std::string& name) override;
  void set_times(const FileTimes& times) override;
  bool moves_chunks() const override { return target_->moves_chunks(); }
  void begin_flush() override;
  void write() override;
  void flush() override;
  void flushed() override;
  bool can_publish() const override { return target_->can_publish(); }
  FileStamp publish() override;
  std::shared_ptr<const Snapshot> finish() override;

 private:
  enum class Step { changing, written, flushed, published, durable, finished, failed };

  FrameEdit& changing();
  void expect(Step step) const;
  void discard(const std::vector<PutChunk>& chunks);
  void put(std::int64_t number, const PutChunk& chunk);
  void store_partial_zeros();

  FrameEdit edit_;
  std::unique_ptr<CommitTarget> target_;
  std::optional<FileTimes> times_;
  codec::BlockDecoder decoder_;
  Step step_ = Step::changing;
};

}  // namespace bloscfs::frame::inline editing
