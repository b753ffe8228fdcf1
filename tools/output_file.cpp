#include "tools/output_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/store/open_regular.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/support/file_error.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

std::string follow_symlink(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr),
                                                        std::free);
  return resolved ? resolved.get() : path;
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error) && !error;
}

frame::UniqueFd open_directory(const std::string& path) {
  frame::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) frame::throw_errno();
  return fd;
}

OutputFile::OutputFile(const std::string& path) : name_(path == "-" ? "stdout" : path) {
  struct stat existing {};
  if (path == "-")
    fd_.reset(dup(STDOUT_FILENO));
  else if (stat(path.c_str(), &existing) != 0 || S_ISREG(existing.st_mode))
    create_temporary(follow_symlink(path));
  else
    fd_.reset(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd_) throw FileError(name_, errno);
  if (S_ISREG(existing.st_mode) && fchmod(fd_.get(), existing.st_mode & 07777) != 0)
    throw FileError(name_, errno);
}

OutputFile::OutputFile(const fs::SourceDirectory& directory, const std::string& name,
                       std::string shown_name, const struct stat& st)
    : name_(std::move(shown_name)), status_(st) {
  create_temporary(frame::descriptor_path(directory.descriptor()) + "/" + name);
  if (!fd_) throw FileError(name_, errno);
}

void OutputFile::create_temporary(const std::string& path) {
  const std::string name = path.substr(0, path.rfind('/') + 1) + frame::temporary_name();
  fd_.reset(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd_) return;
  path_ = path;
  temporary_ = name;
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::write(codec::Bytes bytes) {
  size_ += static_cast<std::int64_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd_.get(), bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw FileError(name_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void OutputFile::write_zeros(std::int64_t size) {
  if (!temporary_.empty()) {
    if (lseek(fd_.get(), size, SEEK_CUR) < 0) throw FileError(name_, errno);
    size_ += size;
    return;
  }
  static constexpr std::array<std::uint8_t, 1 << 16> kZeros{};
  while (size > 0) {
    const std::int64_t part = std::min<std::int64_t>(size, kZeros.size());
    write(codec::Bytes(kZeros).first(static_cast<std::size_t>(part)));
    size -= part;
  }
}

void OutputFile::commit() {
  if (temporary_.empty()) {
    if (close(fd_.release()) != 0) throw FileError(name_, errno);
    return;
  }
  if (ftruncate(fd_.get(), size_) != 0) throw FileError(name_, errno);
  if (status_) {
    const timespec times[2] = {status_->st_atim, status_->st_mtim};
    if (fchmod(fd_.get(), status_->st_mode & 0777) != 0 || futimens(fd_.get(), times) != 0)
      throw FileError(name_, errno);
  }
  if (close(fd_.release()) != 0) throw FileError(name_, errno);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) throw FileError(name_, errno);
  temporary_.clear();
}

}  // namespace bloscfs::tools
