#pragma once
// Options of b2frame that say how to store a frame.

#include <CLI/App.hpp>

#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// What an omitted option means: a usual value, which --help shows, or the value of the existing
/// frame.
enum class StorageDefaults { usual, kept };

/// Adds the options for codec, level, filters, item size, dictionaries and threads. `options` must
/// outlive `command`.
void add_compression_options(CLI::App& command, StorageOptions& options, StorageDefaults defaults);

/// Adds the options for chunks, blocks, container and checksums.
void add_layout_options(CLI::App& command, StorageOptions& options, StorageDefaults defaults);

}  // namespace bloscfs::tools
