#pragma once
// Which format the suffix of OUT promises, and which files an output may replace.

#include <optional>
#include <string>
#include <string_view>

#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

/// Returns the suffix of a known format in lower case, such as ".csv" for "T.CSV"; empty for other
/// names.
std::string promised_suffix(const std::string& name);

/// True if the name is that of a store that b2frame create can write: .b2z or .b2d. Throws
/// UsageError if the suffix is in upper case, because a ZIP file with such a suffix does not count
/// as a store.
bool has_store_suffix(const std::string& name);

/// Throws UsageError if the name of a new frame promises something else: another format, or an
/// array (.b2nd) although the frame holds none. `hint` ends the message.
void require_frame_name(const std::string& output, bool is_array, std::string_view hint = "");

/// The kind of output; `markup` is HTML or SVG. An output may replace a file of the same kind, or
/// an empty file.
enum class OutputKind { frame, table, zip_store, markup };
/// Throws FileError if the output exists as a file of another kind. A frame that is a store does
/// not count as a frame here. Accepts directories without a check.
void require_replaceable(const std::string& output, OutputKind kind);

/// Sets `options` to the format that the name of OUT promises. If a flat frame already holds a file
/// of that format, its contents are written as they are. Throws UsageError if the input cannot be
/// written in that format. Does nothing with --raw.
void apply_promised_format(ExtractOptions& options, const Input& input);

enum class TableFormat { csv, tsv, json, text, npy, rows };
/// Returns the format for a table; nullopt if neither the options nor the name of OUT choose one.
/// Throws UsageError if they contradict each other.
std::optional<TableFormat> table_format(const ExtractOptions& options);

}  // namespace bloscfs::tools
