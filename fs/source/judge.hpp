#pragma once
// Finds out what a file of SOURCE is, by its bytes. Every kind of SOURCE uses these functions.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "frame/container/snapshot.hpp"
#include "frame/store/byte_source.hpp"
#include "fs/options/unsupported_files.hpp"
#include "fs/source/naming.hpp"

namespace bloscfs::fs {

enum class EntryKind : std::uint8_t {
  itself,           ///< shown as it is
  frame,            ///< a file that is a container
  sparse_frame,     ///< a directory that is a container
  store,            ///< a file of python-blosc2 that is shown as a directory
  store_directory,  ///< a directory of python-blosc2, shown as a directory
};

/// Base of the types that describe an entry of SOURCE.
struct EntryKindBase {
  EntryKind kind = EntryKind::itself;

  bool is_container() const { return kind == EntryKind::frame || is_sframe(); }
  bool is_sframe() const { return kind == EntryKind::sparse_frame; }
  bool is_store() const { return kind == EntryKind::store; }
  bool is_store_directory() const { return kind == EntryKind::store_directory; }
};

struct JudgeSettings {
  bool raw = false;
  bool stores = true;  ///< stores are shown as directories
  UnsupportedFiles unsupported = UnsupportedFiles::refused;
  bool logs_verdicts = true;  ///< log the files that are not shown as their names promise
};

/// Suffix of directories of python-blosc2.
inline constexpr std::string_view kDirectoryStoreSuffix = ".b2d";

/// Returns how an entry is shown if its bytes are what its name promises. Does not look at the
/// bytes.
ShownAs promised(std::string_view full_name, bool is_directory, const JudgeSettings& settings);

/// What bytes are judged as: the same bytes may be a frame in one role and a store in another.
enum class Role : std::uint8_t {
  file,
  zip,    ///< a file with the suffix of a ZIP store, which need not be one
  index,  ///< chunks.b2frame, by which its directory is a sparse frame
  embed,  ///< embed.b2e, by which its directory is a store
};

/// Returns the role of a file of that name.
Role role_of(std::string_view full_name, const JudgeSettings& settings);

struct Candidate {
  std::shared_ptr<const frame::ByteSource> bytes;
  Role role = Role::file;
  /// State of `bytes` shortly before the call; if not given, judge() asks `bytes` for it.
  std::optional<frame::FileStamp> stamp = {};
};

/// What a file was judged to be, or the directory whose index or embed.b2e was judged.
struct Verdict : EntryKindBase {
  enum class Health : std::uint8_t {
    sound,
    empty,        ///< perhaps a container that is being made
    damaged,      ///< begins like a container, but is none
    unsupported,  ///< needs a codec or a filter that this build lacks
    left_out,     ///< unsupported or of a later format version, with UnsupportedFiles::hidden
  };
  ShownAs shown = ShownAs::itself;
  Health health = Health::sound;
  bool is_read_only = false;
  bool has_metalayers = true;      ///< containers: false if it has none to list
  bool may_lack_contents = false;  ///< containers: see missing_contents()
  bool has_embedded = false;       ///< store directories: embed.b2e may hold leaves
  std::int64_t shown_size = 0;     ///< containers: st_size of the view
  std::int64_t stored_size = 0;    ///< bytes of the file; sframes: of index and chunk files

  bool is_left_out() const { return health == Health::left_out; }
};

struct ReasonedVerdict : Verdict {
  std::string reason;  ///< for the log: why the file is left out, or shown as it is; else empty
};

/// Judges a file by its bytes. Reads at most 1 MiB, except that it reads the whole directory of a
/// ZIP store. Of a remote frame it reads only the header, if that is enough. In that case
/// has_metalayers and may_lack_contents are true, and damage behind the header shows only when the
/// frame is opened. Throws std::system_error from the source.
ReasonedVerdict judge(const Candidate& candidate, const JudgeSettings& settings);

/// Judges a frame or a Bloscpack file that is open already. Throws codec::Error and
/// std::system_error.
ReasonedVerdict judge(const frame::Snapshot& snapshot, Role role, const JudgeSettings& settings);

}  // namespace bloscfs::fs
