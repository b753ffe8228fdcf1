#pragma once
// What the name of OUT promises by its suffix, and which files an output may replace.

#include <optional>
#include <string>
#include <string_view>

#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

/// The suffix of a known format in lower case, such as ".csv" of "T.CSV"; empty for other names.
std::string promised_suffix(const std::string& name);

/// True for names of the stores that b2frame create makes: .b2z and .b2d. Throws UsageError for
/// these in upper case, since a ZIP file of such a name is no store.
bool promises_store(const std::string& name);

/// Throws UsageError where the name of a new frame promises something else: another format, or an
/// array (.b2nd) where it is none. `hint` ends the message.
void require_frame_name(const std::string& output, bool is_array, std::string_view hint = "");

/// What a command makes, which may replace a file of the same kind. An empty file counts as none.
enum class OutputKind { frame, table };
/// Throws FileError where the output is a file of another kind. A frame that is a store is no
/// frame here. Directories are not looked at.
void require_replaceable(const std::string& output, OutputKind kind);

/// Makes `options` ask for the format that the name of OUT promises. Contents of a flat frame that
/// begin like a file of that kind are written as they are. Throws UsageError where the input cannot
/// be written so; does nothing with --raw.
void keep_promise(ExtractOptions& options, const Input& input);

enum class TableFormat { csv, tsv, json, text, npy, rows };
/// Of a table. Nothing where neither the options nor the name of OUT ask for one of these. Throws
/// UsageError where the two contradict each other.
std::optional<TableFormat> table_format(const ExtractOptions& options);

}  // namespace bloscfs::tools
