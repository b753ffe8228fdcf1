#include "fs/sandbox/landlock.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "frame/store/byte_source.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

constexpr const char* kLandlock = "Landlock";
constexpr int kLeastAbi = 2;

/// The kernel's struct landlock_ruleset_attr as of ABI 6, of which older headers lack a part. Its
/// bits are the accesses that the ruleset forbids, unless a rule allows them.
struct Ruleset {
  std::uint64_t files = 0, net = 0, scoped = 0;
};

constexpr std::uint64_t kTruncate = 1u << 14, kControlDevices = 1u << 15;
constexpr std::uint64_t kBindTcp = 1, kConnectTcp = 2, kAbstractSocketsAndSignals = 3;

constexpr std::uint64_t kReading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWriting =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
    LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER | kTruncate;

/// The accesses that a version of Landlock's ABI can forbid, and the size of the struct in that
/// version. The kernel refuses bits that it does not know.
struct Known {
  int abi;
  Ruleset rules;
  std::size_t size;
};
constexpr std::uint64_t kFiles2 = ((kReading | kWriting) & ~kTruncate) | LANDLOCK_ACCESS_FS_EXECUTE;
constexpr std::array kKnown = {
    Known{2, {kFiles2, 0, 0}, 8},
    Known{3, {kFiles2 | kTruncate, 0, 0}, 8},
    Known{4, {kFiles2 | kTruncate, kBindTcp | kConnectTcp, 0}, 16},
    Known{5, {kFiles2 | kTruncate | kControlDevices, kBindTcp | kConnectTcp, 0}, 16},
    Known{
        6,
        {kFiles2 | kTruncate | kControlDevices, kBindTcp | kConnectTcp, kAbstractSocketsAndSignals},
        24},
};

/// Returns the row for the kernel's ABI, or the last one for a later ABI.
const Known& known_rules() {
  const long abi =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi < 0) frame::throw_errno(kLandlock);
  if (abi < kLeastAbi) frame::throw_errno(EOPNOTSUPP, kLandlock);
  return kKnown[static_cast<std::size_t>(std::min<long>(abi, kKnown.back().abi) - kLeastAbi)];
}

void allow(int ruleset, int below, std::uint64_t access) {
  landlock_path_beneath_attr rule{};
  rule.allowed_access = access;
  rule.parent_fd = below;
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    frame::throw_errno(kLandlock);
}

/// Allows access to a path. A missing path needs no rule.
void allow(int ruleset, const std::string& path, std::uint64_t access) {
  const frame::UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat st {};
  if (!place || ::fstat(place.get(), &st) != 0) return;
  // Of these rights, only reading applies to a file.
  if (!S_ISDIR(st.st_mode)) access &= LANDLOCK_ACCESS_FS_READ_FILE;
  allow(ruleset, place.get(), access);
}

frame::UniqueFd make_ruleset(const Ruleset& rules, std::size_t size) {
  frame::UniqueFd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, size, 0)));
  if (!ruleset) frame::throw_errno(kLandlock);
  return ruleset;
}

void apply(const frame::UniqueFd& ruleset) {
  // The daemon reads the supplementary groups of callers in /proc.
  allow(ruleset.get(), "/proc", LANDLOCK_ACCESS_FS_READ_FILE);
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) frame::throw_errno(kLandlock);
}

}  // namespace

void restrict_to_source(int source, bool writes, int rescue) {
  const Known& known = known_rules();
  const frame::UniqueFd ruleset = make_ruleset(known.rules, known.size);
  const auto rights = (writes ? kReading | kWriting : kReading) & known.rules.files;
  allow(ruleset.get(), source, rights);
  if (rescue >= 0) allow(ruleset.get(), rescue, rights);
  apply(ruleset);
}

void restrict_to_network(const std::vector<std::string>& read,
                         const std::vector<std::string>& written) {
  const Known& known = known_rules();
  Ruleset rules = known.rules;
  // What the ruleset does not handle stays allowed.
  rules.net &= ~kConnectTcp;
  const frame::UniqueFd ruleset = make_ruleset(rules, known.size);
  for (const std::string& path : read) allow(ruleset.get(), path, kReading);
  for (const std::string& path : written)
    allow(ruleset.get(), path, (kReading | kWriting) & rules.files);
  apply(ruleset);
}

}  // namespace bloscfs::fs
