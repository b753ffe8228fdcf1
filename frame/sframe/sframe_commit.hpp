#pragma once
// Commits to a sparse frame. Chunks go to new files, then a new chunks.b2frame takes the old one's
// name (frame/formats/sframe.md, "Commit").

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frame/editing/frame_tail.hpp"
#include "frame/editing/frame_transaction.hpp"
#include "frame/sframe/sframe_state.hpp"
#include "frame/store/container_lock.hpp"

namespace bloscfs::frame::inline sframe {

class SframeCommit final : public CommitTarget {
 public:
  /// `state` is borrowed.
  SframeCommit(SframeState& state, ContainerLock lock);
  ~SframeCommit() override;

  std::vector<std::int64_t> store_chunks(std::span<const NumberedChunk> chunks) override;
  void discard_chunk(const PutChunk& chunk) override;
  std::map<std::int64_t, std::int64_t> await_chunks() override;
  void write(FrameEdit& edit, const std::optional<FileTimes>& times) override;
  void flush() override;
  FileStamp publish(const std::optional<FileTimes>& times) override;
  std::shared_ptr<const Snapshot> finish() override;

 private:
  std::shared_ptr<StoreFile> create_chunk_file(std::uint32_t& number);
  /// Stores a chunk in a new file, and returns the file's number.
  std::uint32_t store_chunk(codec::Bytes stored);
  void await_first();
  std::uint32_t store_elsewhere(const StoreFile& chunk);
  void write_index_file(const FrameEdit& edit);
  std::int64_t collect_superseded(const FrameEdit& edit);
  void bound_unsynced();
  void sync_chunk_files();
  void remove_chunk_file(std::uint32_t number) noexcept;
  void remove_index_file() noexcept;
  void take_back() noexcept;

  SframeState& state_;
  ContainerLock lock_;
  FileAttributes attributes_;  ///< of chunks.b2frame
  codec::BlockDecoder decoder_;
  std::set<std::uint32_t> files_;  ///< chunk files that this transaction has made
  /// The chunk files in files_ that may not be on disk yet.
  std::deque<std::pair<std::uint32_t, std::shared_ptr<StoreFile>>> unsynced_;
  /// Numbers that another writer has drawn, too: drawn number to the new number of our chunk.
  std::map<std::int64_t, std::int64_t> moved_;
  bool lost_chunks_ = false;
  std::string index_name_;
  std::shared_ptr<StoreFile> index_;  ///< the new chunks.b2frame; null before write()
  FrameInfo info_;                    ///< of the new state, once written
  std::vector<std::uint8_t> header_;
  std::vector<std::uint32_t> superseded_;
  bool published_ = false;
  bool finished_ = false;
};

}  // namespace bloscfs::frame::inline sframe
