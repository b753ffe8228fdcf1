#include "fs/sandbox/janitor.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/sandbox/unmount.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

constexpr const char* kJanitor = "the process that unmounts";
/// STATX_MNT_ID_UNIQUE of Linux 6.8, which headers of the C library may lack. Requests a mount
/// number that no later mount gets.
constexpr unsigned kUniqueMountId = 0x4000;

/// Identifies a mount. A kernel without unique numbers may reuse both values later, but not while
/// the daemon serves the mount.
struct MountIdentity {
  std::uint64_t mount = 0;
  std::uint32_t major = 0, minor = 0;
  bool operator==(const MountIdentity&) const = default;
};

/// Returns the topmost mount at `point`. Does not ask its filesystem, whose daemon may be gone, or
/// may be waiting for this call.
std::optional<MountIdentity> mounted_at(const std::string& point) {
  struct statx st {};
  if (::statx(AT_FDCWD, point.c_str(), AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
              STATX_MNT_ID | kUniqueMountId, &st) != 0)
    return std::nullopt;
  return MountIdentity{st.stx_mnt_id, st.stx_dev_major, st.stx_dev_minor};
}

/// A message of the daemon to the janitor.
struct JanitorMessage {
  enum class Kind : std::uint8_t { mounted, unmount, unmount_if_unused } kind{};
  MountIdentity identity{};
};

/// Sends a message and waits for the result. Returns false also if the janitor is gone.
bool is_done_by(int socket, const JanitorMessage& message) {
  bool is_done = false;
  return ::send(socket, &message, sizeof message, MSG_NOSIGNAL) ==
             static_cast<ssize_t>(sizeof message) &&
         receive_message(socket, is_done) && is_done;
}

// --- in the janitor's process

/// Returns the signal that killed a process; 0 if no signal did, or if the process was reaped
/// already.
int killing_signal(pid_t process) {
  constexpr int kSignalBits = 0x7F;  // as in a wait status
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  return std::atoi(line.c_str() + line.rfind(' ') + 1) & kSignalBits;  // the last field
}

std::string name_of_signal(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

struct JanitorPlace {
  pid_t daemon = 0;
  std::string mountpoint, log_file;
};

class JanitorWork {
 public:
  /// `before`: the mount at the mountpoint before the daemon's mount.
  JanitorWork(int socket, const JanitorPlace& place, std::optional<MountIdentity> before)
      : socket_(socket),
        mountpoint_(place.mountpoint),
        log_file_(place.log_file),
        daemon_(place.daemon),
        before_(before) {}

  void run() {
    for (JanitorMessage message; receive_message(socket_, message);) {
      bool is_done = true;
      if (message.kind == JanitorMessage::Kind::mounted) {
        own_ = message.identity;
        mount_ = mount_at(mountpoint_);
      } else if (message.kind == JanitorMessage::Kind::unmount_if_unused) {
        is_done = unmount_if_unused();
      } else {
        is_done = unmount();
        own_ = before_;  // nothing left to unmount
      }
      ::send(socket_, &is_done, sizeof is_done, MSG_NOSIGNAL);
    }
    const int signal = killing_signal(daemon_);
    const bool was_left = own_ != before_ || has_dead_mount();
    if (was_left) unmount();
    if (mount_ && (was_left || signal != 0)) log_end(*mount_, signal);
  }

 private:
  /// Logs the end of a daemon that could not log it.
  void log_end(const MountEntry& mount, int signal) const {
    if (log_file_.empty())
      log::use(log::Target::system_log);
    else
      log::use(log::open_file(log_file_));
    log::error(fmt::format("ended {} on {}: {}{}", mount.source, mount.point,
                           signal == 0 ? "killed" : "killed by " + name_of_signal(signal),
                           mount.read_only ? "" : "; what was not committed is lost"));
  }

  bool unmount() const {
    if (mounted_at(mountpoint_) != own_ || own_ == before_) return true;
    return unmount_lazily(mountpoint_);
  }

  /// Returns true if another error than EBUSY prevents it: a lazy unmount may then work.
  bool unmount_if_unused() const {
    try {
      if (mounted_at(mountpoint_) == own_) unmount_unused(mountpoint_);
    } catch (const std::system_error& error) {
      return error.code() != std::errc::device_or_resource_busy;
    } catch (const std::runtime_error&) {
      return true;
    }
    return true;
  }

  /// Finds a mount that the daemon made, but did not report before it ended. Sets own_.
  bool has_dead_mount() {
    struct stat st {};
    const auto now = mounted_at(mountpoint_);
    if (now == before_ || ::stat(mountpoint_.c_str(), &st) == 0 || errno != ENOTCONN) return false;
    own_ = now;
    return true;
  }

  const int socket_;
  const std::string& mountpoint_;
  const std::string& log_file_;
  const pid_t daemon_;
  std::optional<MountEntry> mount_;  ///< the daemon's mount, as it began
  const std::optional<MountIdentity> before_;
  std::optional<MountIdentity> own_ = before_;
};

}  // namespace

Janitor::Janitor(const std::string& mountpoint, const std::string& log_file)
    : mountpoint_(mountpoint),
      process_("bloscfs-janitor", [place = JanitorPlace{::getpid(), mountpoint, log_file},
                                   before = mounted_at(mountpoint)](int socket) {
        JanitorWork(socket, place, before).run();
      }) {}

Janitor::~Janitor() {
  process_.close_socket();
  wait_for_end_of(process_.id());
}

void Janitor::take_charge() {
  const auto identity = mounted_at(mountpoint_);
  if (!identity || !is_done_by(process_.socket(), {JanitorMessage::Kind::mounted, *identity}))
    frame::throw_errno(kJanitor);
}

bool Janitor::unmount() {
  return is_done_by(process_.socket(), {JanitorMessage::Kind::unmount, {}});
}

bool Janitor::unmount_if_unused() {
  return is_done_by(process_.socket(), {JanitorMessage::Kind::unmount_if_unused, {}});
}

}  // namespace bloscfs::fs
