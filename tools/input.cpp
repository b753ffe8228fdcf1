#include "tools/input.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/array/array_shapes.hpp"
#include "frame/container/checksum_failure.hpp"
#include "frame/open/open.hpp"
#include "frame/remote/open_remote.hpp"
#include "frame/remote/remote_error.hpp"
#include "frame/remote/url.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/mount/ended_mounts.hpp"
#include "fs/support/printable.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/bare_chunk.hpp"
#include "tools/interrupt.hpp"
#include "tools/remote_files.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

/// Returns the bytes of one row of blocks: all blocks that share an index along the first
/// dimension. A reader in C order needs these blocks again and again. Returns 0 for contents
/// without blocks.
std::int64_t row_of_blocks(const frame::FrameInfo& info) {
  if (!info.has_blocked_array() || info.array->blockshape.empty()) return 0;
  std::int64_t row = 0;
  if (__builtin_mul_overflow(frame::row_size(*info.array, info.typesize),
                             info.array->blockshape.front(), &row))
    return std::numeric_limits<std::int64_t>::max();
  return row;
}

/// Returns what failed according to the error: the text before the message of its errno value.
std::string context_of(const std::system_error& error) {
  const std::string_view what = error.what();
  const std::string end = ": " + error.code().message();
  if (!what.ends_with(end)) return {};
  return std::string(what.substr(0, what.size() - end.size()));
}

/// True if the text says nothing to a user: the name of `file`, of a temporary file, or of a system
/// call. URLs are left out, because they may have a password.
bool is_known(const std::string& text, const std::string& file) {
  const auto is_of_call = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  return text == file || file.ends_with("/" + text) || frame::is_temporary_name(text) ||
         text.find("://") != std::string::npos || std::all_of(text.begin(), text.end(), is_of_call);
}

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// Returns the slice if an existing file and a slice make up the name.
std::optional<std::string> slice_after_file(const std::string& name) {
  for (std::size_t at = name.find('[', 1); at != std::string::npos; at = name.find('[', at + 1))
    if (is_there(name.substr(0, at))) return name.substr(at);
  return std::nullopt;
}

std::string mistake_in_slice(const std::string& name, const std::string& slice) {
  if (!slice.ends_with(']')) return fmt::format("; the slice has no closing bracket: '{}]'", name);
  if (slice.find('[', 1) != std::string::npos)
    return "; a slice has one pair of brackets and no lists, as in [0, 2:5]";
  return "; a slice goes with extract, cat, head, and info --stats";
}

/// Returns what is wrong with the name of an input that does not exist, or nothing.
std::string mistake_in_name(const std::string& file) {
  if (const auto slice = slice_after_file(file)) return mistake_in_slice(file, *slice);
  const std::size_t colon = file.find(':');
  if (colon != std::string::npos && colon > 0 && colon + 1 < file.size() &&
      is_there(file.substr(0, colon)))
    return fmt::format("; a key begins with a slash: {}:/{}", file.substr(0, colon),
                       file.substr(colon + 1));
  return {};
}

enum class FileRole : std::uint8_t { input, output };

/// Returns "; " and what the user can do about the error, or nothing.
std::string remedy(const std::error_code& code, const std::string& file, FileRole role) {
  if (code == std::errc::no_space_on_device || code == frame::errno_code(EDQUOT))
    return "; free space, or choose another place";
  if (code == std::errc::no_such_file_or_directory && file.find("://") != std::string::npos &&
      !frame::is_remote(file))
    return "; not a known kind of URL; it begins with http://, https:// or s3://";
  // URLs and STORE:/KEY do not name a file in a directory.
  if (code != std::errc::no_such_file_or_directory || file.find(":/") != std::string::npos)
    return {};
  if (role == FileRole::input)
    if (std::string mistake = mistake_in_name(file); !mistake.empty()) return mistake;
  const std::filesystem::path directory = std::filesystem::path(file).parent_path();
  if (directory.empty() || is_there(directory)) return {};
  if (role == FileRole::input)
    return fmt::format("; correct the name: there is no directory {}", directory.string());
  return fmt::format("; make the directory {}, or correct the name", directory.string());
}

/// True if the message is about a chunk, such as "chunk 3: block 1: ...".
bool is_of_chunk(const std::string& what) {
  constexpr std::string_view kChunk = "chunk ";
  return what.starts_with(kChunk) && what.size() > kChunk.size() && what[kChunk.size()] >= '0' &&
         what[kChunk.size()] <= '9';
}

/// Returns the message of a damaged file. Adds what to do if the file is a frame.
std::string damage(const codec::Error& error, const std::string& file) {
  const std::string what = error.what();
  const bool is_checksum = dynamic_cast<const frame::ChecksumFailure*>(&error) != nullptr;
  const bool is_of_frame = error.code() == codec::FormatErrc::malformed &&
                           (what.starts_with("frame ") || is_of_chunk(what));
  if (!is_checksum && !is_of_frame) return what;
  if (is_in_zip_store(file))
    return what +
           "; restore the store, or unpack it with unzip -d DIR.b2d and repair the file of the "
           "leaf";
  if (is_checksum)
    return what + "; restore the file, or save with b2frame repair what still decodes";
  return what + "; b2frame repair may save it";
}

std::string reason_of(const std::exception& error, const std::string& file, FileRole role) {
  if (const auto* const format = dynamic_cast<const codec::Error*>(&error))
    return damage(*format, file);
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "out of memory";
  if (const auto* remote = dynamic_cast<const frame::RemoteError*>(&error))
    return fmt::format("{} ({})", remote->code().message(), remote->explanation());
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system == nullptr) return error.what();
  std::string context = context_of(*system);
  if (const std::size_t colon = context.find(": ");
      colon != std::string::npos && is_known(context.substr(0, colon), file))
    context.erase(0, colon + 2);
  const std::string message = system->code().message() + remedy(system->code(), file, role);
  return is_known(context, file) ? message : context + ": " + message;
}

}  // namespace

std::shared_ptr<const frame::Snapshot> open_input(const std::string& path, bool bare_chunk,
                                                  RemoteFiles& remote) {
  if (frame::is_remote(path)) {
    if (bare_chunk) throw UsageError("--chunk goes with local files");
    if (auto snapshot = remote.open(path)) return snapshot;
    if (remote.find_store(path)) refuse_whole("a store");
    codec::throw_malformed("neither a Blosc2 frame nor a Bloscpack file");
  }
  if (const auto address = parse_store_address(path); address && !bare_chunk)
    return open_leaf(*open_store(address->store), *address);
  fs::wait_for_ended_mounts(path);
  if (bare_chunk) return open_bare_chunk(path);
  if (auto snapshot = frame::open_path(path, {})) return snapshot;
  refuse_no_frame(path);
}

Input::Input(const std::string& path, bool bare_chunk, RemoteFiles& remote, RunLimits& limits,
             Checksums checksums)
    : Input(open_input(path, bare_chunk, remote), limits, checksums) {}

Input::Input(std::shared_ptr<const frame::Snapshot> snapshot, RunLimits& limits,
             Checksums checksums)
    : limits_(limits),
      reader_(std::move(snapshot), limits.next_content(), limits.next_content(), limits.cache(),
              limits.stats(), {.verify_checksums = checksums == Checksums::check}) {
  limits.keep_row(row_of_blocks(info()));
}

std::string reason(const std::exception& error, const std::string& file) {
  return reason_of(error, file, FileRole::input);
}

std::string output_reason(const std::exception& error, const std::string& file) {
  return reason_of(error, file, FileRole::output);
}

void throw_file_error(const std::string& file, int error) {
  throw FileError(file, output_reason(std::system_error(frame::errno_code(error)), file));
}

std::string complaint(const std::string& file, const std::string& what) {
  return fmt::format("b2frame: {}: {}", fs::printable(frame::shown_url(file)), fs::printable(what));
}

void complain(const std::string& file, const std::string& what) {
  fmt::print(stderr, "{}\n", complaint(file, what));
}

int guarded(const std::string& file, const std::function<int()>& work) {
  try {
    return work();
  } catch (const Interrupted&) {
    throw;
  } catch (const UsageError& error) {
    throw UsageError(frame::shown_url(file) + ": " + error.what());
  } catch (const FileError& error) {
    complain(error.file(), error.what());
    return kExitBadData;
  } catch (const std::exception& error) {
    complain(std::ferror(stdout) != 0 ? "stdout" : file, reason(error, file));
    return kExitBadData;
  }
}

void for_each_page(const fs::FrameReader& reader,
                   const std::function<bool(const frame::IndexPage&)>& visit) {
  fs::Request request;
  fs::ReadRequest reading = reader.begin_request(request);
  for (std::int64_t chunk = 0; chunk < reader.snapshot().info().nchunks;) {
    const auto page = reader.index().page_of_chunk(chunk, reading);
    if (!visit(*page)) return;
    chunk = page->first_chunk() + page->chunk_count();
  }
}

}  // namespace bloscfs::tools
