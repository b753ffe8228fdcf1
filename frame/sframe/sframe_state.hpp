#pragma once
// The state that a writer of a sparse frame keeps between transactions.

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "frame/container/frame_writer.hpp"
#include "frame/editing/frame_space.hpp"
#include "frame/editing/new_frame.hpp"
#include "frame/editing/quarantine.hpp"
#include "frame/reading/frame_snapshot.hpp"
#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline sframe {

struct SframeState {
  explicit SframeState(const WriterSettings& writer_settings)
      : settings(writer_settings), superseded(writer_settings.grace) {}

  std::shared_ptr<StoreDirectory> directory;
  WriterSettings settings;
  std::shared_ptr<StoreFile> index;              ///< chunks.b2frame; null before the first commit
  std::shared_ptr<const FrameSnapshot> current;  ///< null before the first commit
  std::shared_ptr<ExpectedState> expected;       ///< null before the first commit
  FrameLengths lengths;
  Quarantine<std::uint32_t> superseded;  ///< numbers of chunk files
  std::vector<std::uint32_t> doubtful;   ///< numbers of files that other entries may name, too
  std::uint64_t first_own = 0;           ///< this writer has created the files from this number on
  std::optional<std::uint64_t> next_number;
  std::mt19937_64 random{std::random_device{}()};
  NewFrame planned;  ///< for a frame that does not exist yet
  mode_t mode = 0666;
  bool in_transaction = false;
  bool broken = false;  ///< it is unknown which state is on disk
};

/// Opens chunks.b2frame as a snapshot of the writer, and registers it as a reader.
void open_current(SframeState& state);

/// Returns a number that neither the index nor a file in the directory has. In a shared directory,
/// returns a random number, which a file may already have.
std::uint32_t take_number(SframeState& state, codec::BlockDecoder& decoder);

}  // namespace bloscfs::frame::inline sframe
