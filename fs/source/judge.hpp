#pragma once
// Tells what a file of SOURCE is, by its bytes. Every kind of SOURCE asks here.

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
  sparse_frame,     ///< a directory that is one
  store,            ///< a file of python-blosc2 that is shown as a directory
  store_directory,  ///< a directory of python-blosc2; shown as the directory that it is
};

/// Base of the types that describe an entry of SOURCE.
struct OfKind {
  EntryKind kind = EntryKind::itself;

  bool is_container() const { return kind == EntryKind::frame || is_sframe(); }
  bool is_sframe() const { return kind == EntryKind::sparse_frame; }
  bool is_store() const { return kind == EntryKind::store; }
  bool is_store_directory() const { return kind == EntryKind::store_directory; }
};

struct JudgeSettings {
  bool raw = false;
  bool stores = true;  ///< are shown as directories
  UnsupportedFiles unsupported = UnsupportedFiles::refused;
};

/// Suffix of directories of python-blosc2.
inline constexpr std::string_view kDirectoryStoreSuffix = ".b2d";

/// What an entry is by its name alone.
ShownAs promised(std::string_view full_name, bool is_directory, const JudgeSettings& settings);

/// What bytes are looked at as: they may be a frame in one role and a store in another.
enum class Role : std::uint8_t {
  file,
  zip,    ///< a file with the suffix of a ZIP store: it is one, or a file as any other
  index,  ///< chunks.b2frame, which tells what its directory is
  embed,  ///< embed.b2e, which tells the same
};

/// The role of a file of that name.
Role role_of(std::string_view full_name, const JudgeSettings& settings);

struct Candidate {
  std::shared_ptr<const frame::ByteSource> bytes;
  Role role = Role::file;
  /// State of `bytes` shortly before the call; these are asked where it is not known.
  std::optional<frame::FileStamp> stamp = {};
};

/// What a file was found to be, or the directory that the file tells of.
struct Verdict : OfKind {
  enum class Health : std::uint8_t {
    sound,
    empty,        ///< maybe a container that is being made
    damaged,      ///< no container, though it begins as one
    unsupported,  ///< needs a codec or a filter that is missing
    left_out,     ///< needs one, or a later format version, and UnsupportedFiles::hidden is set
  };
  ShownAs shown = ShownAs::itself;
  Health health = Health::sound;
  bool is_read_only = false;
  bool has_metalayers = true;      ///< containers: false if there are none to list
  bool may_lack_contents = false;  ///< containers: see missing_contents()
  bool has_embedded = false;       ///< store directories: whose embed.b2e may hold leaves
  std::int64_t shown_size = 0;     ///< containers: st_size of the view
  std::int64_t stored_size = 0;    ///< of the file; sframes: of the chunk files and the index

  bool is_left_out() const { return health == Health::left_out; }
};

struct ReasonedVerdict : Verdict {
  std::string reason;  ///< for the log: why it is left out, or shown as it is; else empty
};

/// Reads 1 MiB at most, but the whole directory of a ZIP store. Reads the header alone of a
/// frame that is far away, if that is enough: then damage behind it is found by opening the frame,
/// and has_metalayers and may_lack_contents are true. Throws std::system_error from the source.
ReasonedVerdict judge(const Candidate& candidate, const JudgeSettings& settings);

/// Judges a frame or a Bloscpack file that is open already. Throws codec::Error, std::system_error.
ReasonedVerdict judge(const frame::Snapshot& snapshot, Role role, const JudgeSettings& settings);

}  // namespace bloscfs::fs
