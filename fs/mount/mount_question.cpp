#include "fs/mount/mount_question.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/mount_users.hpp"
#include "fs/view/attributes.hpp"

namespace bloscfs::fs {
namespace {

using Clock = std::chrono::steady_clock;

/// If the caller is root, takes the user and group of the mount's owner. Sets the real, effective
/// and saved ids, because FUSE compares them all. Drops root's supplementary groups.
void become_owner(const MountEntry& mount) {
  if (::geteuid() != 0 || mount.user == 0) return;
  if (::setgroups(0, nullptr) != 0 || ::setresgid(mount.group, mount.group, mount.group) != 0 ||
      ::setresuid(mount.user, mount.user, mount.user) != 0)
    frame::throw_errno();
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void enter_root(const MountEntry& mount) {
  // Opens the path as the caller, because the owner may have no access to it. Enters the root as
  // the owner, because others may have no access to that.
  const frame::UniqueFd place(::open(mount.point.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place) frame::throw_errno();
  become_owner(mount);
  if (::fchdir(place.get()) != 0) frame::throw_errno();
}

/// Returns the answer as sent by the child: an errno as raw bytes, 0 for success, and the text.
std::string answer_of(const std::function<std::string()>& ask) {
  int error = 0;
  std::string text;
  try {
    text = ask();
  } catch (const std::system_error& failure) {
    error = failure.code().value();
  } catch (const std::exception&) {
    error = EIO;
  }
  return std::string(reinterpret_cast<const char*>(&error), sizeof error) + text;
}

}  // namespace

MountQuestion::MountQuestion(const MountEntry& mount, const std::function<std::string()>& ask)
    : MountQuestion([&] {
        enter_root(mount);
        return ask();
      }) {}

MountQuestion::MountQuestion(const std::function<std::string()>& ask) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) frame::throw_errno("pipe");
  answer_.reset(ends[0]);
  const frame::UniqueFd its_end(ends[1]);
  process_ = ::fork();
  if (process_ < 0) frame::throw_errno("fork");
  if (process_ > 0) return;
  // A child that waits for a stopped daemon cannot be killed. It must not keep the caller's streams
  // open, or a program that reads the caller's output waits with it.
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, stream);
  answer_.reset();
  write_all(its_end.get(), answer_of(ask));
  ::_exit(0);
}

MountQuestion::~MountQuestion() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, WNOHANG);
}

std::optional<std::string> MountQuestion::wait(std::chrono::milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  for (;;) {
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    pollfd answer{answer_.get(), POLLIN, 0};
    const int ready = ::poll(&answer, 1, static_cast<int>(std::max<std::int64_t>(rest.count(), 0)));
    if (ready < 0 && errno != EINTR) frame::throw_errno("poll");
    if (ready == 0) return std::nullopt;
    if (ready < 0) continue;
    std::array<char, 4096> part{};
    const ssize_t got = ::read(answer_.get(), part.data(), part.size());
    if (got < 0 && errno != EINTR) frame::throw_errno("read");
    if (got > 0) text_.append(part.data(), static_cast<std::size_t>(got));
    if (got == 0) break;
  }
  ::waitpid(std::exchange(process_, -1), nullptr, 0);
  int error = EIO;  // if the child was killed
  if (text_.size() >= sizeof error) std::memcpy(&error, text_.data(), sizeof error);
  if (error != 0) frame::throw_errno(error);
  return text_.substr(sizeof error);
}

std::string read_root_attribute(std::string_view name) {
  std::string value(kMaxAttributeSize, '\0');
  const ssize_t got = ::getxattr(".", std::string(name).c_str(), value.data(), value.size());
  if (got < 0) frame::throw_errno();
  value.resize(static_cast<std::size_t>(got));
  return value;
}

frame::UniqueFd open_root() {
  frame::UniqueFd root(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) frame::throw_errno();
  return root;
}

std::string ask_attribute(const MountEntry& mount, std::string_view name) {
  MountQuestion question(mount, [name] { return read_root_attribute(name); });
  auto answer = question.wait(kLongestAnswer);
  if (!answer) throw_no_answer(mount, kLongestAnswer);
  return *std::move(answer);
}

std::string ask_for_long_work(const MountEntry& mount, const std::function<std::string()>& ask) {
  ask_attribute(mount, kStatsAttribute);
  MountQuestion question(mount, ask);
  std::optional<std::string> answer;
  while (!(answer = question.wait(kLongestAnswer))) ask_attribute(mount, kStatsAttribute);
  return *std::move(answer);
}

void throw_no_answer(const MountEntry& mount, std::chrono::seconds time) {
  const auto daemon = daemon_of(mount);
  throw std::runtime_error(
      fmt::format("its daemon{} has not answered for {} s; to detach the mount all the same, "
                  "run: {} {}",
                  daemon ? fmt::format(" (process {})", *daemon) : "", time.count(),
                  ::geteuid() == 0 ? "umount -l" : "fusermount3 -uz", mount.point));
}

}  // namespace bloscfs::fs
