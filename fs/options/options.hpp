#pragma once
// Settings of a mount, parsed strictly from -o options.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "fs/options/owner_override.hpp"
#include "fs/options/sandbox_policy.hpp"
#include "fs/options/unsupported_files.hpp"
#include "fs/options/write_options.hpp"

namespace bloscfs::fs {

/// What becomes of a mount that is not to be read-only but whose SOURCE cannot be written.
enum class Unwritable {
  shown,    ///< it is read-only
  told_of,  ///< the same, and a message says so
  refused,
};

/// How a SOURCE that is a URL is asked for.
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
  std::string one_given;  ///< name of an option among these that was given, if one was
};

struct MountOptions {
  std::size_t cache_size = std::size_t{256} << 20;  ///< bytes
  unsigned threads = 0;                             ///< of all kinds; 0: by the processors
  bool raw = false;
  UnsupportedFiles unsupported = UnsupportedFiles::refused;
  bool stores = true;  ///< stores of python-blosc2 are shown as directories
  bool read_only = false;
  Unwritable unwritable = Unwritable::shown;
  bool verify = false;
  bool allow_other = false;
  bool cross_mounts = false;       ///< enter other filesystems below SOURCE
  bool remount = false;            ///< the mount is there: flags of passed_on are all that counts
  std::uint32_t idle_timeout = 0;  ///< seconds; 0: never
  std::string log_file;            ///< empty: syslog, or stderr in the foreground
  std::string rescue;              ///< folder; empty: default_rescue_folder(), if it can be had
  bool libfuse_io = false;         ///< libfuse reads requests and writes replies by itself
  SandboxPolicy sandbox = SandboxPolicy::automatic;
  bool trusted_xattrs = false;  ///< attributes trusted.* pass through, too
  bool set_ids = false;         ///< set-user-ID and set-group-ID bits can be set
  bool devices = false;         ///< devices can be made
  OwnerOverride owner;
  WriteOptions write;
  RemoteOptions remote;
  /// Options for libfuse and the kernel, as given.
  std::vector<std::string> passed_on;
  /// Our own, as given, but with numbers in place of the names of users and groups.
  std::vector<std::string> own;
};

/// Bytes that may be dirty at once: a part of the budget unless they are given.
inline std::size_t dirty_limit(const MountOptions& options) {
  constexpr std::size_t kPart = 4;
  return options.write.dirty_limit != 0 ? options.write.dirty_limit : options.cache_size / kPart;
}

/// What becomes of options that are not known.
enum class Unknown { refused, passed_over };

/// Parses the comma-separated lists of -o. Throws std::invalid_argument with a one-line message;
/// for an unknown option it names the three that differ least.
MountOptions parse_options(const std::vector<std::string>& lists,
                           Unknown unknown = Unknown::refused);

/// Options of ours, as given, with `changes` among them: each takes the place of that of its name.
/// Throws std::invalid_argument, with a message, for one that is not there yet and cannot be
/// changed while the mount goes on; or where the result could not be mounted either.
std::vector<std::string> change_running(const std::vector<std::string>& own,
                                        const std::vector<std::string>& changes);

/// What --help prints about the options.
std::string options_help();

}  // namespace bloscfs::fs
