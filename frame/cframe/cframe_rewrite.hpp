#pragma once
// Rewrites a contiguous frame without dead space to a new file, which takes the old file's name.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codec/block_decoder.hpp"
#include "frame/cframe/cframe_state.hpp"
#include "frame/editing/frame_edit.hpp"
#include "frame/editing/frame_tail.hpp"

namespace bloscfs::frame::inline cframe {

class CframeRewrite {
 public:
  /// Borrows `state`. Its file holds the old state and the chunks that the edit has put. Throws
  /// std::system_error(EOPNOTSUPP) if the file has several names.
  explicit CframeRewrite(CframeState& state);
  /// Removes the new file unless it has taken the old one's place.
  ~CframeRewrite();
  CframeRewrite(const CframeRewrite&) = delete;
  CframeRewrite& operator=(const CframeRewrite&) = delete;

  void write(const FrameEdit& edit, codec::BlockDecoder& decoder);
  void flush();
  FileStamp publish(const std::optional<FileTimes>& times);
  bool is_published() const { return published_; }
  /// See Transaction::can_publish().
  bool can_publish() const;
  /// Makes `state` describe the new file.
  void adopt();

 private:
  void write_contents(const FrameEdit& edit, FrameTail& tail, codec::BlockDecoder& decoder);
  void write_nothing(FrameTail& tail);
  void take_name();
  void remove_leftover() noexcept;
  std::uint64_t copy_chunks(const FrameEdit& edit, codec::BlockDecoder& decoder);

  CframeState& state_;
  const std::shared_ptr<StoreDirectory> directory_;  ///< where the new file was made
  std::string name_;
  std::shared_ptr<StoreFile> file_;
  std::vector<std::uint8_t> reserve_;
  FrameInfo info_;
  std::vector<std::uint8_t> header_;
  std::uint64_t header_len_ = 0;
  bool flushed_ = false;
  bool published_ = false;
};

}  // namespace bloscfs::frame::inline cframe
