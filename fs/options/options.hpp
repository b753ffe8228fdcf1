#pragma once
// Settings of a mount, parsed strictly from -o options.

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

struct MountOptions {
  std::size_t cache_size = std::size_t{256} << 20;  ///< bytes
  unsigned threads = 0;                             ///< of all kinds; 0: by the processors
  bool raw = false;
  UnsupportedFiles unsupported = UnsupportedFiles::refused;
  bool frames = false;  ///< a frame's own bytes are found under the name that it has in SOURCE
  bool read_only = false;
  Unwritable unwritable = Unwritable::shown;
  bool verify = false;
  bool allow_other = false;
  bool cross_mounts = false;       ///< enter other filesystems below SOURCE
  bool remount = false;            ///< the mount is there: flags of passed_on are all that counts
  std::uint32_t idle_timeout = 0;  ///< seconds; 0: never
  std::string log_file;            ///< empty: syslog, or stderr in the foreground
  bool libfuse_io = false;         ///< libfuse reads requests and writes replies by itself
  SandboxPolicy sandbox = SandboxPolicy::automatic;
  OwnerOverride owner;
  WriteOptions write;
  /// Options for libfuse and the kernel, as given.
  std::vector<std::string> passed_on;
};

/// Parses the comma-separated lists of -o. Throws std::invalid_argument with a one-line message;
/// for an unknown option it lists those that exist.
MountOptions parse_options(const std::vector<std::string>& lists);

/// What --help prints about the options.
std::string options_help();

}  // namespace bloscfs::fs
