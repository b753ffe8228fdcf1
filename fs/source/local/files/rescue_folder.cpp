#include "fs/source/local/files/rescue_folder.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "frame/store/local_store.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/mount_users.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;
using frame::UniqueFd;

constexpr std::string_view kSuffix = ".b2frame";
/// The ID begins with at most this many bytes of SOURCE's name.
constexpr std::size_t kMostOfName = 40;
/// Limit of the number that distinguishes folders of mounts that ended in the same second.
constexpr int kMostOfSecond = 1000;

std::string id_of(const std::string& source) {
  std::string name = std::filesystem::path(source).filename().string().substr(0, kMostOfName);
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '_'; }, '_');
  return fmt::format("{}-{:016x}", name, XXH3_64bits(source.data(), source.size()));
}

UniqueFd open_folder(int above, const std::string& name) {
  UniqueFd folder(::openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) throw_errno(name);
  return folder;
}

/// Opens a folder. Makes it durably if it does not exist.
UniqueFd need_folder(int above, const std::string& name) {
  if (::mkdirat(above, name.c_str(), 0700) == 0) {
    if (::fsync(open_folder(above, ".").get()) != 0) throw_errno(name);
  } else if (errno != EEXIST) {
    throw_errno(name);
  }
  return open_folder(above, name);
}

void write_source(int folder, const std::string& source) {
  const UniqueFd file(
      ::openat(folder, "source", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  const std::string line = source + "\n";
  if (!file || ::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    throw_errno("source");
}

/// Returns the names of the entries of a folder, sorted.
std::vector<std::string> names_in(int folder) {
  auto names = frame::make_local_store(open_folder(folder, "."), nullptr)->names();
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
  std::sort(names.begin(), names.end());
  return names;
}

std::string join(const std::string& above, const std::string& name) {
  return fmt::format("{}/{}", above, name);
}

/// Returns the name of the file that remembers the loss of the frame `name`.
std::string mark_of(const std::string& name, Loss loss) {
  return fmt::format("{}.{}", name, word_of(loss));
}

Loss marked_loss(int folder, const std::string& name) {
  for (const Loss loss : {Loss::doubtful, Loss::zeros, Loss::newer, Loss::only_written})
    if (::faccessat(folder, mark_of(name, loss).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
      return loss;
  return Loss::none;
}

/// Adds the frames in `folder` and in the folders below it to `found`. `file` is the path of
/// `folder` relative to the rescue folder. `path` is its path as shown in the mount.
void find_frames(int folder, const std::string& file, const std::string& path,
                 std::vector<RescueFolder::Rescued>& found) {
  for (const std::string& name : names_in(folder)) {
    struct stat st {};
    if (::fstatat(folder, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::string below = path.empty() ? name : join(path, name);
    if (S_ISDIR(st.st_mode))
      find_frames(open_folder(folder, name).get(), join(file, name), below, found);
    else if (S_ISREG(st.st_mode) && name.ends_with(kSuffix) && name.size() > kSuffix.size())
      found.push_back({below.substr(0, below.size() - kSuffix.size()), join(file, name),
                       marked_loss(folder, name)});
  }
}

}  // namespace

std::string default_rescue_folder() {
  if (::geteuid() == 0) return "/var/lib/bloscfs/rescue";
  const char* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/bloscfs/rescue";
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.local/state/bloscfs/rescue" : "";
}

UniqueFd open_rescue_folder(const std::string& directory, IfMissing if_missing) {
  const std::filesystem::path path = std::filesystem::absolute(directory);
  if (if_missing == IfMissing::make && ::mkdir(path.c_str(), 0700) != 0 && errno == ENOENT)
    throw_errno(directory);
  std::filesystem::path above;
  for (const auto& part : if_missing == IfMissing::make_all ? path : std::filesystem::path()) {
    above /= part;
    // EROFS and EACCES matter only if the folder does not exist, which the calls below report.
    if (::mkdir(above.c_str(), 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
      throw_errno(above.string());
  }
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) throw_errno(directory);
  struct stat st {};
  if (::fstat(folder.get(), &st) != 0) throw_errno(directory);
  if (st.st_uid != ::geteuid())
    throw RescueFolderUnsafe("belongs to user " + user_name(st.st_uid),
                             fmt::format("chown {} {}", user_name(::geteuid()), directory),
                             st.st_uid);
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw RescueFolderUnsafe(
        fmt::format("other users may write to it (mode {:o})", st.st_mode & mode_t{07777}),
        "chmod 700 " + directory);
  return folder;
}

RescueFolder::RescueFolder(UniqueFd folder, std::string directory, const std::string& source)
    : folder_(std::move(folder)),
      directory_(std::move(directory)),
      source_(source),
      id_(id_of(source)) {}

RescueFolder::Place RescueFolder::place_for(const std::string& path) {
  UniqueFd folder = need_folder(folder_.get(), id_);
  if (time_.empty()) {
    write_source(folder.get(), source_);
    const std::string now = fmt::format("{:%Y%m%dT%H%M%S}", fmt::gmtime(std::time(nullptr)));
    std::string time = now;
    int number = 2;
    while (::mkdirat(folder.get(), time.c_str(), 0700) != 0) {
      if (errno != EEXIST || number > kMostOfSecond) throw_errno(time);
      time = fmt::format("{}-{}", now, number++);
    }
    time_ = std::move(time);
  }
  // `told` becomes the path of the frame, for messages. All components of `path` but the last
  // become folders.
  std::string told = directory_ + "/" + id_ + "/" + time_;
  folder = need_folder(folder.get(), time_);
  std::string name;
  for (const auto& part : std::filesystem::path(path)) {
    if (!name.empty()) folder = need_folder(folder.get(), name);
    name = part.string();
    told += "/" + name;
  }
  if (name.size() + kSuffix.size() > NAME_MAX) throw_errno(ENAMETOOLONG, path);
  return {frame::make_local_store(std::move(folder), nullptr), name + std::string(kSuffix),
          told + std::string(kSuffix)};
}

std::string RescueFolder::recover_command() const {
  return "b2frame recover " +
         (directory_ == default_rescue_folder() ? "" : "--rescue " + directory_ + " ") + source_;
}

void RescueFolder::mark(const Place& place, Loss loss) {
  if (loss != Loss::none) place.directory->create(mark_of(place.name, loss), 0600)->sync();
}

std::vector<RescueFolder::Rescued> RescueFolder::rescued() const {
  std::vector<Rescued> found;
  struct stat st {};
  if (::fstatat(folder_.get(), id_.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return found;
  const UniqueFd folder = open_folder(folder_.get(), id_);
  for (const std::string& time : names_in(folder.get()))
    if (time != "source")
      find_frames(open_folder(folder.get(), time).get(), id_ + "/" + time, {}, found);
  return found;
}

std::shared_ptr<const frame::StoreFile> RescueFolder::open(const Rescued& rescued) const {
  UniqueFd file(::openat(folder_.get(), rescued.file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) throw_errno(rescued.file);
  return frame::make_local_file(std::move(file));
}

void RescueFolder::remove(const Rescued& rescued) {
  if (::unlinkat(folder_.get(), rescued.file.c_str(), 0) != 0) throw_errno(rescued.file);
  if (rescued.loss != Loss::none)
    ::unlinkat(folder_.get(), mark_of(rescued.file, rescued.loss).c_str(), 0);
  std::filesystem::path above = std::filesystem::path(rescued.file).parent_path();
  while (above != id_ && ::unlinkat(folder_.get(), above.c_str(), AT_REMOVEDIR) == 0)
    above = above.parent_path();
  // Without frames, the folder of this SOURCE contains only the file "source".
  if (above != id_ || names_in(open_folder(folder_.get(), id_).get()).size() > 1) return;
  ::unlinkat(folder_.get(), (id_ + "/source").c_str(), 0);
  ::unlinkat(folder_.get(), id_.c_str(), AT_REMOVEDIR);
}

}  // namespace bloscfs::fs
