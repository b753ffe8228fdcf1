#include "fs/options/options.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <pwd.h>

#include "codec/loss.hpp"
#include "codec/names.hpp"
#include "fs/options/container_suffixes.hpp"
#include "fs/options/help_rows.hpp"
#include "fs/options/nearest_name.hpp"
#include "fs/options/option_values.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::size_t kMinCacheSize = std::size_t{1} << 20;
constexpr unsigned kMaxThreads = 64;
/// The largest id of a user or group: -1 stands for none.
constexpr std::uint64_t kMaxId = 0xFFFFFFFE;

template <typename Names>
bool is_among(std::string_view name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void refuse(std::string_view option, std::string_view value, std::string_view wanted) {
  throw std::invalid_argument(fmt::format("option {}={}: {}", option, value, wanted));
}

std::uint64_t number_option(std::string_view option, std::string_view value, std::int64_t min,
                            std::int64_t max) {
  const auto number = parse_number(value);
  if (!number || *number < min || *number > max)
    refuse(option, value, fmt::format("wanted a whole number from {} to {}", min, max));
  return static_cast<std::uint64_t>(*number);
}

/// Returns a size in the form of an option's value, such as "64M".
std::string size_value(std::size_t size) {
  std::string_view unit;
  for (const std::string_view next : {"K", "M", "G", "T"}) {
    if (size % 1024 != 0) break;
    size /= 1024;
    unit = next;
  }
  return fmt::format("{}{}", size, unit);
}

constexpr std::size_t kNoMaximum = std::numeric_limits<std::int64_t>::max();

std::size_t size_option(std::string_view option, std::string_view value, std::size_t min,
                        std::size_t max = kNoMaximum) {
  const auto size = parse_size(value);
  if (!size || static_cast<std::size_t>(*size) < min || static_cast<std::size_t>(*size) > max)
    refuse(
        option, value,
        fmt::format("wanted a size such as 64M or 1G (K, M, G and T are known), at least {}{}",
                    size_value(min), max == kNoMaximum ? "" : " and at most " + size_value(max)));
  return static_cast<std::size_t>(*size);
}

std::int64_t seconds_option(std::string_view option, std::string_view value, std::int64_t min,
                            std::int64_t max) {
  const auto seconds = parse_seconds(value);
  if (!seconds || *seconds < min || *seconds > max)
    refuse(option, value,
           fmt::format("wanted {} to {} seconds, such as 90, 5m or 1h (s, m, h and d are known)",
                       min, max));
  return *seconds;
}

/// Parses the id of a user or a group. `value` is the id, or a name that `find` looks up.
template <typename Find>
std::uint32_t id_option(std::string_view option, std::string_view value, const Find& find) {
  const auto number = parse_number(value);
  if (number && static_cast<std::uint64_t>(*number) <= kMaxId)
    return static_cast<std::uint32_t>(*number);
  if (!number && !value.empty())
    if (const auto id = find(std::string(value))) return *id;
  refuse(option, value,
         number ? fmt::format("wanted a number from 0 to {}, or a name", kMaxId)
                : fmt::format("no {} has this name here; wanted its name or number",
                              option == "uid" ? "user" : "group"));
}

std::optional<uid_t> find_user(const std::string& name) {
  const passwd* const user = ::getpwnam(name.c_str());
  return user != nullptr ? std::optional(user->pw_uid) : std::nullopt;
}

std::optional<gid_t> find_group(const std::string& name) {
  const group* const found = ::getgrnam(name.c_str());
  return found != nullptr ? std::optional(found->gr_gid) : std::nullopt;
}

/// Removes the backslashes that escape commas and other backslashes in a value.
std::string without_backslashes(std::string_view value) {
  std::string text;
  for (std::size_t at = 0; at < value.size(); at++) {
    if (value[at] == '\\' && at + 1 < value.size()) at++;
    text += value[at];
  }
  return text;
}

/// Written data is read again, and a chunk is encoded each time that a part of it changes. So
/// losses must not add up.
constexpr codec::Loss kMostLoss = codec::Loss::once;

void set_codec(WriteOptions& options, std::string_view value) {
  options.goal = parse_goal(value);
  if (options.goal) return;
  const auto codec = parse_codec(value);
  if (!codec || codec::loss_of(codec->id, {}) > kMostLoss)
    refuse("codec", value,
           fmt::format("wanted {}, or auto, which may have :ratio, :balanced or :speed behind it",
                       codec::list_written_codecs("or", kMostLoss)));
  options.codec = codec->id;
  options.codec_meta = codec->meta;
}

FilterSteps filters_option(std::string_view value) {
  const auto filters = parse_filters(without_backslashes(value));
  if (!filters || codec::loss_of({}, *filters) > kMostLoss)
    refuse("filters", value,
           fmt::format("wanted up to six names among {}, or none",
                       codec::list_written_filters("and", kMostLoss)));
  // Such a frame could not be written, so its chunks would have none of the filters.
  const auto first = std::find_if(filters->begin(), filters->end(), [](const auto& step) {
    return step.id != codec::FilterId::none;
  });
  if (first != filters->end() &&
      std::any_of(std::next(first), filters->end(),
                  [](const auto& step) { return step.id == codec::FilterId::delta; }))
    refuse("filters", value, "wanted delta as the first filter only");
  return *filters;
}

std::string suffix_option(std::string_view value) {
  if (is_among(value, kContainerSuffixes)) return std::string(value);
  constexpr auto last = kContainerSuffixes.end() - 1;
  refuse("suffix", value,
         fmt::format("wanted {} or {}", fmt::join(kContainerSuffixes.begin(), last, ", "), *last));
}

std::string path_option(std::string_view option, std::string_view value) {
  if (value.empty()) refuse(option, value, "wanted the name of a file");
  return without_backslashes(value);
}

SandboxPolicy sandbox_option(std::string_view value) {
  if (value == "auto") return SandboxPolicy::automatic;
  if (value == "off") return SandboxPolicy::off;
  if (value == "require") return SandboxPolicy::required;
  refuse("sandbox", value, "wanted auto, off or require");
}

UnsupportedFiles unsupported_option(std::string_view value) {
  if (value == "error") return UnsupportedFiles::refused;
  if (value == "hide") return UnsupportedFiles::hidden;
  if (value == "raw") return UnsupportedFiles::raw;
  refuse("unsupported", value, "wanted hide, raw or error");
}

using Setter = void (*)(MountOptions&, std::string_view value);

struct OwnOption {
  std::string_view name;
  bool takes_value;
  Setter set;
  std::string help;
  bool is_remote = false;  ///< only for a SOURCE that is a URL
};

constexpr std::size_t kMinDirtyLimit = std::size_t{1} << 20;
constexpr std::size_t kMinChunkSize = std::size_t{4} << 10;
constexpr std::size_t kMaxChunkSize = std::size_t{1} << 30;
constexpr std::size_t kMinBlockSize = 256;
constexpr unsigned kMaxConnections = 256;
constexpr std::int64_t kMaxSeconds = 1'000'000;
constexpr std::int64_t kMaxCommitSeconds = 3600;
constexpr std::size_t kMinDiskCache = std::size_t{1} << 20;

const std::array kOwnOptions = {
    OwnOption{"cache_size", true,
              [](MountOptions& o, std::string_view v) {
                o.cache_size = size_option("cache_size", v, kMinCacheSize);
              },
              "memory for decoded and written data, such as 1G (256M)"},
    OwnOption{"threads", true,
              [](MountOptions& o, std::string_view v) {
                o.threads = static_cast<unsigned>(number_option("threads", v, 1, kMaxThreads));
              },
              "threads that serve requests and decode (by CPUs, at most 8)"},
    OwnOption{"raw", false, [](MountOptions& o, std::string_view) { o.raw = true; },
              "show arrays as their elements alone, without a NPY header"},
    OwnOption{"unsupported", true,
              [](MountOptions& o, std::string_view v) { o.unsupported = unsupported_option(v); },
              "what to do with frames of unsupported codecs or filters: error, hide "
              "or raw (error)"},
    OwnOption{"nostores", false, [](MountOptions& o, std::string_view) { o.stores = false; },
              "show stores of python-blosc2 as plain files and directories"},
    OwnOption{"verify", false, [](MountOptions& o, std::string_view) { o.verify = true; },
              "check the stored checksums of chunks (bloscfs.xxh3)"},
    OwnOption{"cross_mounts", false,
              [](MountOptions& o, std::string_view) { o.cross_mounts = true; },
              "also show filesystems that are mounted below SOURCE"},
    OwnOption{"dirty_limit", true,
              [](MountOptions& o, std::string_view v) {
                o.write.dirty_limit = size_option("dirty_limit", v, kMinDirtyLimit);
              },
              "part of cache_size for uncommitted writes (a quarter)"},
    OwnOption{"codec", true,
              [](MountOptions& o, std::string_view v) { set_codec(o.write, v); },
              fmt::format("codec of new files: {} (zstd); auto[:GOAL] chooses by contents, for "
                          "GOAL ratio, balanced or speed (balanced)",
                          codec::list_written_codecs("or", kMostLoss))},
    OwnOption{"clevel", true,
              [](MountOptions& o, std::string_view v) {
                o.write.clevel = static_cast<int>(number_option("clevel", v, 0, 9));
              },
              "compression level of new files, 0 to 9 (1)"},
    OwnOption{"filters", true,
              [](MountOptions& o, std::string_view v) { o.write.filters = filters_option(v); },
              "filters of new files: none, or up to six NAME[:META] joined by +"},
    OwnOption{"chunk_size", true,
              [](MountOptions& o, std::string_view v) {
                o.write.chunk_size = static_cast<std::int32_t>(
                    size_option("chunk_size", v, kMinChunkSize, kMaxChunkSize));
              },
              "bytes of a chunk of new files (128K)"},
    OwnOption{"block_size", true,
              [](MountOptions& o, std::string_view v) {
                o.write.block_size = static_cast<std::int32_t>(
                    size_option("block_size", v, kMinBlockSize, kMaxChunkSize));
              },
              "bytes of a block of new files (32K)"},
    OwnOption{"suffix", true,
              [](MountOptions& o, std::string_view v) { o.write.suffix = suffix_option(v); },
              "suffix of new flat frames in SOURCE (.b2frame)"},
    OwnOption{"sync", true,
              [](MountOptions& o, std::string_view v) {
                if (v != "group" && v != "strict") refuse("sync", v, "wanted group or strict");
                o.write.strict = v == "strict";
              },
              "group, or strict: commit each file when it is closed (group)"},
    OwnOption{"commit", true,
              [](MountOptions& o, std::string_view v) {
                o.write.longest_wait =
                    std::chrono::seconds(seconds_option("commit", v, 1, kMaxCommitSeconds));
              },
              "commit closed files within this time, such as 1m (5s)"},
    OwnOption{"checksum", false, [](MountOptions& o, std::string_view) { o.write.checksum = true; },
              "store checksums of chunks in new files (bloscfs.xxh3)"},
    OwnOption{"locking", false, [](MountOptions& o, std::string_view) { o.write.locking = true; },
              "create the lock files (.b2lock) of other Blosc2 programs"},
    OwnOption{"trusted_xattrs", false,
              [](MountOptions& o, std::string_view) { o.trusted_xattrs = true; },
              "pass on root's trusted.* attributes; keeps CAP_SYS_ADMIN"},
    OwnOption{"writeback", false,
              [](MountOptions& o, std::string_view) { o.write.writeback = true; },
              "let the kernel collect small writes"},
    OwnOption{"idle_timeout", true,
              [](MountOptions& o, std::string_view v) {
                o.idle_timeout =
                    static_cast<std::uint32_t>(seconds_option("idle_timeout", v, 0, 1'000'000'000));
              },
              "unmount after this time without an open file, such as 5m"},
    OwnOption{"log", true,
              [](MountOptions& o, std::string_view v) { o.log_file = path_option("log", v); },
              "append messages to this file (syslog; stderr with -f)"},
    OwnOption{"rescue", true,
              [](MountOptions& o, std::string_view v) { o.rescue = path_option("rescue", v); },
              "folder for files that SOURCE cannot take when the mount ends"},
    OwnOption{"sandbox", true,
              [](MountOptions& o, std::string_view v) { o.sandbox = sandbox_option(v); },
              "auto, off, or require: fail if part of it is missing (auto)"},
    OwnOption{"libfuse_io", false, [](MountOptions& o, std::string_view) { o.libfuse_io = true; },
              "let libfuse read requests and send replies (slower)"},
    OwnOption{"uid", true,
              [](MountOptions& o, std::string_view v) { o.owner.uid = id_option("uid", v, find_user); },
"show all files as owned by this user (name or number)"},
    OwnOption{"gid", true,
              [](MountOptions& o, std::string_view v) { o.owner.gid = id_option("gid", v, find_group); },
"show all files as owned by this group (name or number)"},
    OwnOption{"endpoint", true,
              [](MountOptions& o, std::string_view v) { o.remote.endpoint = v; },
              "URL of the object store for s3:// (Amazon's)", true},
    OwnOption{"region", true, [](MountOptions& o, std::string_view v) { o.remote.region = v; },
              "region of the object store (AWS_REGION, or us-east-1)", true},
    OwnOption{"virtual_host", false,
              [](MountOptions& o, std::string_view) { o.remote.virtual_host = true; },
              "put the bucket into the host name, not into the path", true},
    OwnOption{"anonymous", false,
              [](MountOptions& o, std::string_view) { o.remote.anonymous = true; },
              "do not sign requests, even if there are credentials", true},
    OwnOption{"cafile", true,
              [](MountOptions& o, std::string_view v) { o.remote.cafile = path_option("cafile", v); },
              "file of trusted certificates (the system's)", true},
    OwnOption{"netrc", true,
              [](MountOptions& o, std::string_view v) { o.remote.netrc = path_option("netrc", v); },
              "web users and passwords, in curl's .netrc format", true},
    OwnOption{"bearer_file", true,
              [](MountOptions& o, std::string_view v) {
                o.remote.bearer_file = path_option("bearer_file", v);
              },
              "file of mode 0600 with a token for the web server", true},
    OwnOption{"proxy", true, [](MountOptions& o, std::string_view v) { o.remote.proxy = v; },
              "URL of an HTTP proxy", true},
    OwnOption{"connections", true,
              [](MountOptions& o, std::string_view v) {
                o.remote.connections =
                    static_cast<unsigned>(number_option("connections", v, 1, kMaxConnections));
              },
              "connections to the server at once (16)", true},
    OwnOption{"retry_time", true,
              [](MountOptions& o, std::string_view v) {
                o.remote.retry_time =
                    std::chrono::seconds(seconds_option("retry_time", v, 0, kMaxSeconds));
                o.remote.retries_first_contact = true;
              },
              "retry failed requests for this time (60s)", true},
    OwnOption{"disk_cache", true,
              [](MountOptions& o, std::string_view v) {
                o.remote.disk_cache = path_option("disk_cache", v);
              },
              "folder that caches data of a remote SOURCE", true},
    OwnOption{"disk_cache_size", true,
              [](MountOptions& o, std::string_view v) {
                o.remote.disk_cache_size = size_option("disk_cache_size", v, kMinDiskCache);
              },
              "size limit of disk_cache (10G)", true},
    OwnOption{"create", false, [](MountOptions& o, std::string_view) { o.remote.create = true; },
              "allow -o rw on a prefix that has no keys yet", true},
    OwnOption{"revalidate", true,
              [](MountOptions& o, std::string_view v) {
                o.remote.revalidate =
                    std::chrono::seconds(seconds_option("revalidate", v, 0, kMaxSeconds));
              },
              "trust the known state of an object for this time (1s)", true},
};

/// Options that libfuse or the kernel take: words, and names that need a value.
constexpr std::array<std::string_view, 24> kPassedOnWords = {
    "allow_other", "allow_root", "auto_unmount", "default_permissions",
    "ro",          "rw",         "dev",          "nodev",
    "suid",        "nosuid",     "exec",         "noexec",
    "atime",       "noatime",    "relatime",     "norelatime",
    "strictatime", "lazytime",   "sync",         "async",
    "dirsync",     "diratime",   "nodiratime",   "remount"};
constexpr std::array<std::string_view, 6> kPassedOnValues = {
    "fsname", "subtype", "context", "fscontext", "defcontext", "rootcontext"};
/// Options that mount(8) copies from the mount table when it remounts.
constexpr std::array<std::string_view, 5> kMountTable = {"user_id", "group_id", "rootmode",
                                                         "max_read", "blksize"};
/// Words of fstab lines that mean nothing to a filesystem.
constexpr std::array<std::string_view, 11> kIgnored = {"defaults", "auto",  "noauto", "nofail",
                                                       "_netdev",  "user",  "nouser", "users",
                                                       "owner",    "group", "comment"};

std::vector<std::string> known_options() {
  std::vector<std::string> known;
  known.reserve(kOwnOptions.size() + kPassedOnValues.size() + kPassedOnWords.size());
  for (const OwnOption& option : kOwnOptions) known.emplace_back(option.name);
  known.insert(known.end(), kPassedOnValues.begin(), kPassedOnValues.end());
  known.insert(known.end(), kPassedOnWords.begin(), kPassedOnWords.end());
  return known;
}

[[noreturn]] void refuse_unknown(std::string_view item) {
  const std::string name(item.substr(0, item.find('=')));
  if (item == name && parse_filters(name))
    throw std::invalid_argument(fmt::format(
        "unknown option {}, which is a filter: write filters=A+B, or a backslash before the comma",
        item));
  constexpr std::size_t kNamed = 3;
  throw std::invalid_argument(
      fmt::format("unknown option {}; the nearest are {}; bloscfs --help lists all", item,
                  fmt::join(nearest_names(name, known_options(), kNamed), ", ")));
}

void apply_own(MountOptions& options, const OwnOption& option, std::string_view item,
               std::string_view value) {
  const bool has_value = item.size() > option.name.size();
  if (has_value != option.takes_value)
    throw std::invalid_argument(
        fmt::format("option {} {}", option.name, has_value ? "takes no value" : "needs a value"));
  option.set(options, value);
  // The daemon reads its options again at a remount, and its sandbox knows no names of users.
  if (option.name == "uid")
    options.own.push_back(fmt::format("uid={}", *options.owner.uid));
  else if (option.name == "gid")
    options.own.push_back(fmt::format("gid={}", *options.owner.gid));
  else
    options.own.emplace_back(item);
  if (option.is_remote) options.remote.given_option = option.name;
}

void apply(MountOptions& options, std::string_view item, Unknown unknown) {
  const std::size_t equals = item.find('=');
  const std::string_view name = item.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
  const bool has_value = equals != std::string_view::npos;
  // `sync=VALUE` is an option of bloscfs, `sync` alone one of mount(8).
  for (const OwnOption& option : kOwnOptions)
    if (option.name == name && (has_value || !is_among(name, kPassedOnWords)))
      return apply_own(options, option, item, value);
  // A network mount may be tried before the network is up.
  if (name == "_netdev") options.remote.retries_first_contact = true;
  if (is_among(name, kIgnored) || name.starts_with("x-")) return;
  if (options.remount && is_among(name, kMountTable)) return;
  if (has_value ? !is_among(name, kPassedOnValues) : !is_among(name, kPassedOnWords)) {
    if (unknown == Unknown::ignored) return;
    if (is_among(name, kPassedOnWords))
      throw std::invalid_argument(fmt::format("option {} takes no value", name));
    if (is_among(name, kPassedOnValues))
      throw std::invalid_argument(fmt::format("option {} needs a value", name));
    refuse_unknown(item);
  }
  if (name == "allow_other") options.allow_other = true;
  if (name == "ro") options.read_only = true;
  if (name == "rw") options.read_only = false;
  if (name == "suid" || name == "nosuid") options.set_ids = name == "suid";
  if (name == "dev" || name == "nodev") options.devices = name == "dev";
  options.passthrough_options.emplace_back(item);
}

bool gives_level_or_filters(const MountOptions& options) {
  return std::ranges::any_of(options.own, [](const std::string& item) {
    return item.starts_with("clevel=") || item.starts_with("filters=");
  });
}

/// Returns what `rw` means: the user need not have asked for it. mount(8) adds `rw` to options
/// without `ro`. mount.fuse(8) adds `dev` and `suid` to options without their opposites. So where
/// both are present, mount(8) may have added `rw`.
Unwritable meaning_of_rw(const std::vector<std::string_view>& options) {
  if (!is_among("rw", options)) return Unwritable::shown;
  const bool by_mount_program = (is_among("dev", options) || is_among("nodev", options)) &&
                                (is_among("suid", options) || is_among("nosuid", options));
  return by_mount_program ? Unwritable::warned_of : Unwritable::refused;
}

/// Returns how many items at the end of a list mount.fuse3(8) has added: `dev` and `suid`, where
/// the list lacks their opposites. mount(8), which runs it, begins the list with `rw` or `ro`, and
/// removes the `dev` and `suid` that its user gave.
std::size_t added_by_mount_program(const std::vector<std::string_view>& items) {
  if (items.empty() || (items.front() != "rw" && items.front() != "ro")) return 0;
  std::vector<std::string_view> added;
  if (!is_among("nodev", items)) added.emplace_back("dev");
  if (!is_among("nosuid", items)) added.emplace_back("suid");
  const bool is_at_end =
      added.size() < items.size() && std::equal(added.rbegin(), added.rend(), items.rbegin());
  return is_at_end ? added.size() : 0;
}

/// Returns the position of the comma that ends the first item, or npos. As in libfuse, a backslash
/// escapes the next character.
std::size_t end_of_item(std::string_view list) {
  for (std::size_t at = 0; at < list.size(); at++) {
    if (list[at] == ',') return at;
    if (list[at] == '\\') at++;
  }
  return std::string_view::npos;
}

}  // namespace

MountOptions parse_options(const std::vector<std::string>& lists, Unknown unknown) {
  std::vector<std::string_view> items;
  for (std::string_view rest : lists) {
    while (!rest.empty()) {
      const std::size_t comma = end_of_item(rest);
      if (comma != 0) items.push_back(rest.substr(0, comma));
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
  }
  MountOptions options;
  options.remount = is_among("remount", items);
  options.unwritable = meaning_of_rw(items);
  // Without this, each mount from fstab would let users make set-user-ID programs. A remount keeps
  // the flags that the mount has.
  if (!options.remount && lists.size() == 1)
    items.resize(items.size() - added_by_mount_program(items));
  for (const std::string_view item : items) apply(options, item, unknown);
  if (options.write.dirty_limit > options.cache_size)
    throw std::invalid_argument(
        fmt::format("option dirty_limit={}: wanted no more than cache_size, which is {} bytes",
                    options.write.dirty_limit, options.cache_size));
  if (options.write.goal && gives_level_or_filters(options))
    throw std::invalid_argument(
        "option codec=auto chooses level and filters: clevel= and filters= don't go with it");
  return options;
}

std::string option_list(const MountOptions& options) {
  std::string list = options.read_only ? "ro" : "rw";
  for (const std::string& item : options.own) list += "," + item;
  for (const std::string& item : options.passthrough_options)
    if (item != "ro" && item != "rw") list += "," + item;
  return list;
}

std::string shown_options(const MountOptions& options) {
  constexpr std::string_view kProxy = "proxy=";
  MountOptions shown = options;
  for (std::string& item : shown.own)
    if (const std::size_t at = item.rfind('@'); item.starts_with(kProxy) && at != std::string::npos)
      item = std::string(kProxy) + "..." + item.substr(at);
  return option_list(shown);
}

std::optional<std::string> option_form(std::string_view name) {
  for (const OwnOption& option : kOwnOptions)
    if (option.name == name) return std::string(name) + (option.takes_value ? "=" : "");
  if (is_among(name, kPassedOnWords)) return std::string(name);
  if (is_among(name, kPassedOnValues)) return std::string(name) + "=";
  return std::nullopt;
}

std::string options_help() {
  constexpr std::size_t kColumn = 19;
  std::string text;
  for (const OwnOption& option : kOwnOptions)
    text += help_row(fmt::format("{}{}", option.name, option.takes_value ? "=" : ""), option.help,
                     kColumn);
  std::string others;
  for (const std::string_view option : kPassedOnValues) others += fmt::format("{}= ", option);
  others += fmt::format("{}", fmt::join(kPassedOnWords, " "));
  return text + "As in mount(8) and mount.fuse(8):\n" + help_row("", others, 2);
}

}  // namespace bloscfs::fs
