#pragma once
// Recognises the kind of a container by its bytes and opens it; alone in knowing all kinds.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "frame/container/open_settings.hpp"
#include "frame/container/snapshot.hpp"
#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline open {

/// Kind of container that the first bytes of a regular file announce (its magic alone), if any.
std::optional<ContainerKind> recognise(Bytes first_bytes);

/// Opens a regular file whose first bytes announce a container. `fd` is open for reading.
/// Returns null if they announce none. Throws Error if the container cannot be trusted.
std::unique_ptr<Snapshot> open_file(UniqueFd fd, const OpenSettings& settings);

/// The same of what is no local file. Of `settings` only a name is used, and there should be none.
std::unique_ptr<Snapshot> open_file(std::shared_ptr<const ByteSource> source,
                                    const OpenSettings& settings);

/// What the header says of a frame that is far away, where reading its end would cost a round trip;
/// else nothing, where only its end tells whether it is an array, and where it may be an
/// EmbedStore. `frame_type` is 1 for the index of a sparse frame, else 0. That the frame can be
/// opened is not said by that. Throws Error.
std::optional<FrameInfo> peek_far_frame(const ByteSource& source, std::uint8_t frame_type);

/// Opens a sparse frame. `directory` is an open directory. Returns null if it holds no
/// chunks.b2frame with a frame header of type 1; throws Error if that frame cannot be trusted.
std::unique_ptr<Snapshot> open_directory(UniqueFd directory, const OpenSettings& settings);

/// The same of what is no local directory.
std::unique_ptr<Snapshot> open_directory(std::shared_ptr<const StoreDirectory> directory);

/// The same of chunks.b2frame alone: nothing can be read of its chunks.
std::unique_ptr<Snapshot> open_index(std::shared_ptr<const ByteSource> index);

/// Opens the container at a path, following symlinks; null if there is none there.
/// Throws std::system_error, without the path, if it cannot be opened.
std::unique_ptr<Snapshot> open_path(const std::string& path, const OpenSettings& settings);

}  // namespace bloscfs::frame::inline open
