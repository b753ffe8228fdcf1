#include "fs/fuse/remount.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/fuse/mount_answer.hpp"
#include "fs/fuse/mount_attributes.hpp"
#include "fs/mount/mount_question.hpp"
#include "fs/options/mount_flags.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/source/local/files/mount_users.hpp"

namespace bloscfs::fs {
namespace {

/// Options that only take effect when the kernel mounts.
constexpr std::array<std::string_view, 3> kFixed = {"allow_other", "allow_root",
                                                    "default_permissions"};

/// Returns the MS_ flags after the mount options `words`.
unsigned long changed(unsigned long flags, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (const MountFlag* const flag = find_mount_flag(word))
      flags = word == flag->set ? flags | flag->bit : flags & ~flag->bit;
  return flags;
}

MountEntry require_mount(const std::string& mountpoint) {
  auto mount = mount_at(mountpoint);
  struct stat st {};
  if (!mount && ::stat(mountpoint.c_str(), &st) != 0) frame::throw_errno();
  if (!mount || mount->type != kMountType)
    throw std::invalid_argument("no bloscfs is mounted there");
  return *std::move(mount);
}

/// Throws if `words` has an option of kFixed that the mount does not have yet.
void refuse_fixed(const MountEntry& mount, const std::vector<std::string>& words) {
  const auto has = [](const auto& list, std::string_view word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  for (const std::string_view word : kFixed)
    if (has(words, word) && !has(mount.options, word))
      throw std::invalid_argument(fmt::format(
          "option {}: cannot be changed while it is mounted; unmount it, and mount it again",
          word));
}

std::string options_of(const MountEntry& mount) { return ask_attribute(mount, kOptionsAttribute); }

/// Throws if the last commit of a file has failed. `begin` is the beginning of the message.
void require_committed(const MountEntry& mount, const char* begin) {
  constexpr std::size_t kMostNamed = 3;
  std::string text;
  std::size_t count = 0;
  for (const auto& file : failed_files(ask_attribute(mount, kUncommittedAttribute)))
    if (++count <= kMostNamed)
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", file.name, file.error);
  if (count > kMostNamed) text += fmt::format(", and {} more", count - kMostNamed);
  if (count > 0)
    throw std::runtime_error(
        fmt::format("{} cannot commit {}; remove the cause, and remount again", begin, text));
}

/// Commits everything. Returns false if the daemon serves a mount that was read-only from the
/// start. `begin` is as in require_committed().
bool commit_all(const MountEntry& mount, const char* begin) {
  const std::string error = ask_for_long_work(mount, []() -> std::string {
    return ::ioctl(open_root().get(), kCommitRequest) == 0 ? "" : std::to_string(errno);
  });
  if (error.empty()) return true;
  require_committed(mount, begin);
  if (error == std::to_string(EROFS)) return false;
  frame::throw_errno(std::stoi(error), "committing what was written");
}

/// Returns the options to send to the daemon. Throws for an option that cannot be changed.
ChangeText plan_change(const MountEntry& mount, const MountOptions& options) {
  if (!options.own.empty()) change_running(parse_options({options_of(mount)}).own, options.own);
  std::vector<std::string> wanted = options.own;
  for (const std::string& word : options.passthrough_options)
    if (find_mount_flag(word) != nullptr) wanted.push_back(word);
  const std::string text = fmt::format("{}", fmt::join(wanted, ","));
  ChangeText request{};
  if (text.size() >= request.size()) throw std::invalid_argument("too many options at once");
  std::copy(text.begin(), text.end(), request.begin());
  return request;
}

void send_change(const MountEntry& mount, const ChangeText& request) {
  ask_for_long_work(mount, [&request]() -> std::string {
    if (::ioctl(open_root().get(), kChangeRequest, request.data()) != 0) frame::throw_errno();
    return "";
  });
}

void apply_flags(const MountEntry& mount, unsigned long flags) {
  const bool writes = commit_all(mount, "not remounted:");
  if (!writes && (flags & MS_RDONLY) == 0)
    throw std::invalid_argument("was mounted read-only; unmount it, and mount it again");
  if (::mount(nullptr, mount.point.c_str(), nullptr, MS_REMOUNT | flags, nullptr) != 0) {
    if (errno != EBUSY) frame::throw_errno("remount");
    const auto writer = writer_in(mount);
    throw std::runtime_error("files are open for writing in it" +
                             (writer ? fmt::format(": {} by {} (process {})", writer->path,
                                                   writer->command, writer->process)
                                     : ""));
  }
}

}  // namespace

void remount(const std::string& mountpoint, const MountOptions& options) {
  const MountEntry mount = require_mount(mountpoint);
  if (::geteuid() != 0 && ::geteuid() != mount.user)
    throw std::runtime_error(fmt::format("is a mount of user {}: only they and root can change it",
                                         user_name(mount.user)));
  const unsigned long before = changed(0, mount.flags);
  const unsigned long flags = changed(before, options.passthrough_options);
  // All checks come first, so that a change that is refused leaves the mount as it was.
  if (flags != before && ::geteuid() != 0)
    throw std::runtime_error(
        "only root can change flags of a mount such as ro; unmount it, and mount it again with the "
        "option");
  refuse_fixed(mount, options.passthrough_options);
  const ChangeText change = plan_change(mount, options);
  if (flags != before) apply_flags(mount, flags);
  send_change(mount, change);
  // The remount made the kernel write its cached data to the daemon. Commits that data too.
  if ((flags & MS_RDONLY) != 0) commit_all(mount, "remounted, but");
}

}  // namespace bloscfs::fs
