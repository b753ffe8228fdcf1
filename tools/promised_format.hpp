#pragma once
// A name that promises a format (.csv .tsv .json .jsonl .txt .npy .npz) gets that format or an
// error.

#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

/// Makes `options` ask for the format that the name of OUT promises. Contents of a flat frame that
/// begin like a file of that kind are written as they are. Throws UsageError where the input cannot
/// be written so; does nothing with --raw.
void keep_promise(ExtractOptions& options, const Input& input);

}  // namespace bloscfs::tools
