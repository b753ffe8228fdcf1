#pragma once
// What a writer of a contiguous frame knows of it between transactions.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frame/container/frame_writer.hpp"
#include "frame/editing/frame_space.hpp"
#include "frame/editing/new_frame.hpp"
#include "frame/reading/frame_snapshot.hpp"
#include "frame/store/byte_store.hpp"

namespace bloscfs::frame {

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
  FrameSpace space;
  FrameLengths lengths;
  NewFrame planned;  ///< a frame that does not exist yet
  bool in_transaction = false;
  bool broken = false;  ///< nobody knows which state is on disk

  std::uint64_t chunks_at() const { return header_len + reserve.size(); }
};

/// Opens the frame in `state.file` as a snapshot of the writer and begins to watch it.
void open_current(CframeState& state);

/// Finds out which superseded extents share no bytes with chunks of the present state.
void resolve_doubtful(CframeState& state, codec::BlockDecoder& decoder);

}  // namespace bloscfs::frame
