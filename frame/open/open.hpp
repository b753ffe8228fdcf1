#pragma once
// Recognises the kind of a container by its bytes and opens it. Only this file knows all kinds.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "frame/container/open_settings.hpp"
#include "frame/container/snapshot.hpp"
#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline open {

/// Returns the kind of container whose magic a regular file starts with, if any.
std::optional<ContainerKind> recognise(Bytes first_bytes);

/// Opens a regular file that starts with the magic of a container. `fd` is open for reading.
/// Returns null for other files. Throws Error if the container cannot be trusted.
std::unique_ptr<Snapshot> open_file(UniqueFd fd, const OpenSettings& settings);

/// Opens any source. Ignores the counters in `settings`. The name should be empty unless the source
/// is a local file.
std::unique_ptr<Snapshot> open_file(std::shared_ptr<const ByteSource> source,
                                    const OpenSettings& settings);

/// Returns what the header of a remote frame says, if reading the end of the frame would cost a
/// round trip. Otherwise returns nullopt, and also if only the end tells whether the frame is an
/// array, or if it may be an EmbedStore. `frame_type` is 1 for the index of a sparse frame,
/// otherwise 0. A result does not mean that the frame can be opened. Throws Error.
std::optional<FrameInfo> peek_far_frame(const ByteSource& source, std::uint8_t frame_type);

/// Opens a sparse frame. `directory` is an open directory. Returns null unless it holds a
/// chunks.b2frame with a frame header of type 1. Throws Error if that frame cannot be trusted.
std::unique_ptr<Snapshot> open_directory(UniqueFd directory, const OpenSettings& settings);

/// Opens a sparse frame in any kind of directory.
std::unique_ptr<Snapshot> open_directory(std::shared_ptr<const StoreDirectory> directory);

/// Opens a chunks.b2frame without its directory. Reading a chunk throws Error.
std::unique_ptr<Snapshot> open_index(std::shared_ptr<const ByteSource> index);

/// Opens the container at a path, following symlinks. Returns null if the file is not a container.
/// Throws std::system_error, without the path, if it cannot be opened.
std::unique_ptr<Snapshot> open_path(const std::string& path, const OpenSettings& settings);

}  // namespace bloscfs::frame::inline open
