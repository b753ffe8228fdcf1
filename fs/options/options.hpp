#pragma once
// Settings of a mount, parsed strictly from -o options.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/options/owner_override.hpp"
#include "fs/options/sandbox_policy.hpp"
#include "fs/options/unsupported_files.hpp"
#include "fs/options/write_options.hpp"

namespace bloscfs::fs {

/// The reaction to a SOURCE that cannot be written, for a mount that should be writable.
enum class Unwritable {
  shown,      ///< it is mounted read-only
  warned_of,  ///< it is mounted read-only, with a warning
  refused,
};

/// How to access a SOURCE that is a URL.
struct RemoteOptions {
  std::string endpoint, region, cafile, netrc, bearer_file, proxy;  ///< empty: not given
  bool virtual_host = false;
  bool anonymous = false;
  bool create = false;
  unsigned connections = 16;
  std::chrono::seconds retry_time{60};
  bool retries_first_contact = false;
  std::string disk_cache;  ///< folder; empty: none
  std::uint64_t disk_cache_size = std::uint64_t{10} << 30;
  std::chrono::milliseconds revalidate{1000};
  std::string given_option;  ///< the last of these options that was given, if any
};

struct MountOptions {
  std::size_t cache_size = std::size_t{256} << 20;  ///< bytes
  unsigned threads = 0;  ///< of all kinds; 0: by the number of processors
  bool raw = false;
  UnsupportedFiles unsupported = UnsupportedFiles::refused;
  bool stores = true;         ///< stores of python-blosc2 are shown as directories
  bool logs_verdicts = true;  ///< as in JudgeSettings; no user option
  bool read_only = false;
  Unwritable unwritable = Unwritable::shown;
  bool verify = false;
  bool allow_other = false;
  bool cross_mounts = false;       ///< enter other filesystems below SOURCE
  bool remount = false;            ///< change an existing mount
  std::uint32_t idle_timeout = 0;  ///< seconds; 0: never
  std::string log_file;            ///< empty: syslog, or stderr in the foreground
  std::string rescue;              ///< folder; empty: default_rescue_folder(), if available
  bool libfuse_io = false;         ///< libfuse reads requests and writes replies itself
  SandboxPolicy sandbox = SandboxPolicy::automatic;
  bool trusted_xattrs = false;  ///< attributes trusted.* pass through too
  bool set_ids = false;         ///< users may set the set-user-ID and set-group-ID bits
  bool devices = false;         ///< users may make device files
  OwnerOverride owner;
  WriteOptions write;
  RemoteOptions remote;
  /// Options for libfuse and the kernel, as given.
  std::vector<std::string> passthrough_options;
  /// Options of bloscfs, as given, but with numbers in place of the names of users and groups.
  std::vector<std::string> own;
};

/// Returns how many bytes may be dirty at once: the option dirty_limit, or a quarter of cache_size.
inline std::size_t dirty_limit(const MountOptions& options) {
  constexpr std::size_t kPart = 4;
  return options.write.dirty_limit != 0 ? options.write.dirty_limit : options.cache_size / kPart;
}

/// The reaction to unknown options.
enum class Unknown { refused, ignored };

/// Parses the comma-separated lists of -o. Throws std::invalid_argument with a one-line message.
/// For an unknown option the message names the three nearest.
MountOptions parse_options(const std::vector<std::string>& lists,
                           Unknown unknown = Unknown::refused);

/// Returns all options in the form of -o: "ro" or "rw", then the others as given.
std::string option_list(const MountOptions& options);
/// Like option_list(), for the log: without the password that the URL of a proxy may hold.
std::string shown_options(const MountOptions& options);

/// Returns the options `own` of a running mount with `changes` applied. Each change replaces the
/// option of the same name. Throws std::invalid_argument with a message if an option cannot be
/// changed while mounted, or if the result is invalid.
std::vector<std::string> change_running(const std::vector<std::string>& own,
                                        const std::vector<std::string>& changes);

/// Returns how -o takes an option, such as "cache_size=" or "ro". Returns nullopt if it has none of
/// that name.
std::optional<std::string> option_form(std::string_view name);

/// Returns what --help prints about the options.
std::string options_help();

}  // namespace bloscfs::fs
