#include "tools/promised_format.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include "codec/error.hpp"
#include "frame/header/object_list.hpp"
#include "frame/open/open.hpp"
#include "frame/store/byte_source.hpp"
#include "frame/store/throw_errno.hpp"
#include "tools/store_address.hpp"
#include "tools/tables/table.hpp"
#include "tools/view_output.hpp"

namespace bloscfs::tools {
namespace {

using std::string_view_literals::operator""sv;

/// Files of the kind `unchecked` begin in several ways, or the format is a directory. Only flat
/// frames can hold such a file, and their contents are not compared with it.
enum class Kind { frame, store, store_directory, text, json, other, unchecked };

struct Format {
  std::string_view suffix;
  Kind kind;
  /// Bytes that each file of the format has at the offset `magic_at`; empty if the format has none.
  std::string_view magic = {};
  std::size_t magic_at = 0;
};
constexpr auto kFrameMagic = "b2frame\0"sv, kZipMagic = "PK\x03\x04"sv,
               kHdfMagic = "\x89HDF\r\n\x1a\n"sv;
constexpr std::array<Format, 41> kFormats{{
    {".b2nd", Kind::frame, kFrameMagic, 2},
    {".b2frame", Kind::frame, kFrameMagic, 2},
    {".b2f", Kind::frame, kFrameMagic, 2},
    {".b2", Kind::frame, kFrameMagic, 2},
    {".b2b", Kind::frame, kFrameMagic, 2},
    {".cframe", Kind::frame, kFrameMagic, 2},
    {".b2e", Kind::store, kFrameMagic, 2},
    {".b2z", Kind::store, kZipMagic},
    {".b2d", Kind::store_directory},
    {".csv", Kind::text},
    {".tsv", Kind::text},
    {".txt", Kind::text},
    {".json", Kind::json},
    {".jsonl", Kind::json},
    {".npy", Kind::other, "\x93NUMPY"sv},
    {".npz", Kind::other, kZipMagic},
    {".zip", Kind::other, kZipMagic},
    {".h5", Kind::other, kHdfMagic},
    {".hdf5", Kind::other, kHdfMagic},
    {".blp", Kind::other, "blpk"sv},
    {".gz", Kind::other, "\x1f\x8b"sv},
    {".fits", Kind::other, "SIMPLE"sv},
    {".parquet", Kind::other, "PAR1"sv},
    {".grb", Kind::other, "GRIB"sv},
    {".grib", Kind::other, "GRIB"sv},
    {".grib2", Kind::other, "GRIB"sv},
    {".png", Kind::other, "\x89PNG"sv},
    {".xlsx", Kind::other, kZipMagic},
    {".arrow", Kind::unchecked},
    {".cdf", Kind::unchecked},
    {".feather", Kind::unchecked},
    {".hdf", Kind::unchecked},
    {".mat", Kind::unchecked},
    {".nc", Kind::unchecked},
    {".nc4", Kind::unchecked},
    {".nii", Kind::unchecked},
    {".pkl", Kind::unchecked},
    {".pt", Kind::unchecked},
    {".tif", Kind::unchecked},
    {".tiff", Kind::unchecked},
    {".zarr", Kind::unchecked},
}};

/// Returns null if the name does not end in the suffix of a known format.
const Format* format_of(const std::string& name) {
  const std::size_t dot = name.find_last_of("./");
  if (dot == std::string::npos || dot == 0 || name[dot] == '/' || name[dot - 1] == '/')
    return nullptr;
  const std::string_view suffix = std::string_view(name).substr(dot);
  const auto is_same = [](char a, char b) {
    return a == std::tolower(static_cast<unsigned char>(b));
  };
  const auto* const format = std::ranges::find_if(
      kFormats, [&](const Format& one) { return std::ranges::equal(one.suffix, suffix, is_same); });
  return format == kFormats.end() ? nullptr : format;
}

[[noreturn]] void refuse(std::string_view suffix, std::string_view instead) {
  throw UsageError(
      fmt::format("cannot be written as {}: {}; --raw writes the bytes", suffix, instead));
}

bool begins_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ||
         std::string_view("{[\"-0123456789tfn").find(text[first]) != std::string_view::npos;
}

/// Throws UsageError unless the contents of a flat frame, from `offset` on, look like the format.
void require_contents_of(const Format& format, const Input& input, std::int64_t offset) {
  const auto start = contents_at(input, offset, kTextStart);
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (format.kind == Kind::text || format.kind == Kind::json) {
    if (!is_text(start)) refuse(format.suffix, "its contents are not text");
    if (format.kind == Kind::json && !begins_like_json(text))
      refuse(format.suffix, "its contents do not begin like JSON");
  } else if (format.kind != Kind::unchecked &&
             (format.magic.empty() ||
              !text.substr(std::min(text.size(), format.magic_at)).starts_with(format.magic))) {
    refuse(format.suffix, "its contents do not begin like such a file");
  }
}

/// Throws UsageError if --npy or --json contradicts the suffix of the output's name.
void require_no_contradiction(const ExtractOptions& options, const Format* format) {
  if (format == nullptr) return;
  if (options.npy && format->suffix != ".npy")
    throw UsageError(fmt::format("--npy writes a NPY file, not {}", format->suffix));
  if (options.json && format->kind != Kind::json)
    throw UsageError(fmt::format("--json writes JSON lines, not {}", format->suffix));
}

/// Returns why the output must not be replaced; empty if it may be.
std::string_view obstacle(const std::string& output, OutputKind kind) {
  frame::UniqueFd fd(::open(output.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) return {};
  if (!fd) frame::throw_errno();
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) frame::throw_errno();
  if (!S_ISREG(st.st_mode) || st.st_size == 0) return {};
  std::array<std::uint8_t, 16> start{};
  const ssize_t got = ::pread(fd.get(), start.data(), start.size(), 0);
  if (got < 0) frame::throw_errno();
  if (kind == OutputKind::markup)
    return start[0] == '<' ? "" : "exists, and is neither a page nor a picture";
  std::unique_ptr<frame::PythonStore> store;
  try {
    store = find_any_store(output);
  } catch (const codec::Error&) {
    // The store is damaged, so only the first bytes of the file are checked.
  }
  if (kind == OutputKind::zip_store)
    return store && store->kind() != frame::StoreKind::embed ? ""
                                                             : "exists, and is not a .b2z store";
  if (kind == OutputKind::table)
    return store && store->kind() != frame::StoreKind::embed && is_table(*store, "/")
               ? ""
               : "exists, and is not a table";
  if (store) return "exists, and is a store, not a frame";
  const auto found = frame::recognise(codec::Bytes(start).first(static_cast<std::size_t>(got)));
  return found == frame::ContainerKind::cframe ? "" : "exists, and is not a frame";
}

}  // namespace

std::string promised_suffix(const std::string& name) {
  const Format* const format = format_of(name);
  return format == nullptr ? "" : std::string(format->suffix);
}

bool has_store_suffix(const std::string& name) {
  const std::string suffix = promised_suffix(name);
  if (suffix != ".b2z" && suffix != ".b2d") return false;
  if (!name.ends_with(suffix))
    throw UsageError(
        fmt::format("a store needs its suffix in lower case: end OUT with {}", suffix));
  return true;
}

void require_frame_name(const std::string& output, bool is_array, std::string_view hint) {
  const Format* const format = format_of(output);
  if (format == nullptr) return;
  const bool wants_array = format->suffix == ".b2nd";
  if (format->kind == Kind::frame && (is_array || !wants_array)) return;
  throw UsageError(fmt::format(
      "becomes {}, not {}: end OUT with {}{}", is_array ? "an array" : "a frame of bytes",
      wants_array ? "an array (.b2nd)" : format->suffix, is_array ? ".b2nd" : ".b2frame", hint));
}

void require_replaceable(const std::string& output, OutputKind kind) {
  try {
    const std::string_view why = obstacle(output, kind);
    if (!why.empty())
      throw std::runtime_error(
          fmt::format("{}: remove it first, or choose another name for OUT", why));
  } catch (const std::exception& error) {
    throw FileError(output, output_reason(error, output));
  }
}

void apply_promised_format(ExtractOptions& options, const Input& input) {
  if (options.raw) return;
  const Format* const format = format_of(options.output);
  require_no_contradiction(options, format);
  if (format == nullptr || options.npy || options.json) return;
  if (format->kind == Kind::json && frame::object_list_of(input.snapshot()))
    options.json = true;
  else if (!input.info().array)
    require_contents_of(*format, input, options.offset);
  else if (format->suffix == ".npy")
    options.npy = true;
  else if (format->suffix == ".txt")
    options.text = true;
  else if (format->suffix != ".csv")
    refuse(format->suffix, "an array becomes a .npy, .csv or .txt");
}

std::optional<TableFormat> table_format(const ExtractOptions& options) {
  if (options.rows) return TableFormat::rows;
  const Format* const format = format_of(options.output);
  require_no_contradiction(options, format);
  const std::string suffix = promised_suffix(options.output);
  if (options.text || suffix == ".txt") return TableFormat::text;
  if (options.json || (format != nullptr && format->kind == Kind::json)) return TableFormat::json;
  if (options.npy || suffix == ".npy") return TableFormat::npy;
  if (suffix == ".tsv") return TableFormat::tsv;
  if (suffix == ".csv" || options.output == "-") return TableFormat::csv;
  return std::nullopt;
}

}  // namespace bloscfs::tools
