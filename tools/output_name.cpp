#include "tools/output_name.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "frame/store/local_store.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

namespace filesystem = std::filesystem;

constexpr int kMadeFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;

void check(int result) {
  if (result != 0) frame::throw_errno();
}

}  // namespace

std::string follow_symlink(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr),
                                                        std::free);
  return resolved ? resolved.get() : path;
}

bool same_file(const std::string& input, const std::string& output) {
  const auto address = parse_store_address(input);
  std::error_code error;
  return filesystem::equivalent(address ? address->store : input, output, error) && !error;
}

frame::UniqueFd open_directory(const std::string& path) {
  frame::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) frame::throw_errno();
  return fd;
}

mode_t without_umask(mode_t mode) {
  static const mode_t denied = [] {
    const mode_t set = ::umask(0);
    ::umask(set);
    return set;
  }();
  return mode & mode_t{0777} & ~denied;
}

mode_t mode_of_input(const std::string& path) {
  const auto address = parse_store_address(path);
  const std::string file = address ? address->store : path;
  struct stat st {
  }, index{};
  if (::stat(file.c_str(), &st) != 0) return 0666;
  if (S_ISREG(st.st_mode)) return st.st_mode & mode_t{0777};
  if (!S_ISDIR(st.st_mode)) return 0666;
  const bool is_sframe = ::stat((file + "/" + frame::kSframeIndexName).c_str(), &index) == 0;
  return is_sframe ? index.st_mode & mode_t{0777} : st.st_mode & mode_t{0666};
}

OutputName::OutputName(const std::string& path) {
  std::string followed = follow_symlink(path);
  while (followed.size() > 1 && followed.ends_with('/')) followed.pop_back();
  const std::size_t start = followed.rfind('/') + 1;
  name_ = followed.substr(start);
  directory_ = open_directory(start == 0 ? "." : followed.substr(0, start));
  watched_.emplace(directory());
}

OutputName::OutputName(const fs::SourceDirectory& directory, std::string name)
    : directory_(::openat(directory.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      name_(std::move(name)) {
  if (!directory_) frame::throw_errno();
  watched_.emplace(this->directory());
}

OutputName::~OutputName() {
  if (temporary_.empty()) return;
  if (::unlinkat(directory(), temporary_.c_str(), 0) == 0 || errno != EISDIR) return;
  std::error_code ignored;
  filesystem::remove_all(frame::descriptor_path(directory()) + "/" + temporary_, ignored);
}

std::optional<struct stat> OutputName::status() const {
  struct stat st {};
  if (::fstatat(directory(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) return st;
  if (errno != ENOENT) frame::throw_errno();
  return std::nullopt;
}

frame::UniqueFd OutputName::make_file() {
  const InterruptHold hold;
  std::string name = frame::temporary_name();
  frame::UniqueFd fd(::openat(directory(), name.c_str(), kMadeFlags, 0600));
  if (!fd) frame::throw_errno();
  temporary_ = std::move(name);
  return fd;
}

frame::UniqueFd OutputName::make_directory() {
  const InterruptHold hold;
  std::string name = frame::temporary_name();
  check(::mkdirat(directory(), name.c_str(), 0700));
  temporary_ = std::move(name);
  frame::UniqueFd fd(
      ::openat(directory(), temporary_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) frame::throw_errno();
  return fd;
}

frame::FileAttributes OutputName::attributes_for(const frame::StoreFile& made, mode_t mode) const {
  frame::FileAttributes wanted = made.attributes();
  wanted.mode = without_umask(mode);
  const auto replaced = status();
  if (!replaced || !S_ISREG(replaced->st_mode)) return wanted;
  // Takes over the access control list, too. If a file has such a list, the group bits of its mode
  // are the mask of the list.
  frame::UniqueFd old(
      ::openat(directory(), name_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (old) {
    frame::FileAttributes attributes = frame::make_local_file(std::move(old))->attributes();
    // Another user may have given this name to a set-user-ID program of root, by a hard link.
    if (replaced->st_nlink > 1) attributes.mode &= 0777;
    // The kernel removes capabilities from a file when it is written.
    std::erase_if(attributes.extended,
                  [](const auto& one) { return one.name == "security.capability"; });
    attributes.accessed = wanted.accessed;
    attributes.modified = wanted.modified;
    return attributes;
  }
  // The replaced file cannot be opened, so only its status is known.
  wanted.owner = replaced->st_uid;
  wanted.group = replaced->st_gid;
  wanted.mode = replaced->st_mode & mode_t{0777};
  return wanted;
}

void OutputName::publish(frame::RenameMode mode) {
  const auto store =
      frame::make_local_store(frame::UniqueFd(::fcntl(directory(), F_DUPFD_CLOEXEC, 0)), nullptr);
  store->rename(temporary_, name_, mode);
  temporary_.clear();
  store->sync_name(name_);
}

}  // namespace bloscfs::tools
