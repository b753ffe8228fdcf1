#pragma once
// Options of b2frame that say how a frame is to be stored.

#include <CLI/App.hpp>

#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// What stands for an option that is not given: a usual value, which --help tells, or what there
/// is.
enum class StorageDefaults { usual, kept };

/// Codec, level, filters, size of items, dictionaries, threads. `options` outlives `command`.
void add_compression_options(CLI::App& command, StorageOptions& options, StorageDefaults defaults);

/// Chunks, blocks, container, checksums.
void add_layout_options(CLI::App& command, StorageOptions& options, StorageDefaults defaults);

}  // namespace bloscfs::tools
