#include "tools/output_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "frame/store/local_store.hpp"
#include "frame/store/throw_errno.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

OutputFile::OutputFile(const std::string& path, mode_t mode)
    : shown_(path == "-" ? "stdout" : path), mode_(mode) {
  blamed([&] {
    struct stat existing {};
    if (path == "-") {
      fd_.reset(::dup(STDOUT_FILENO));
    } else if (::stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode)) {
      if (S_ISDIR(existing.st_mode))
        throw FileError(shown_, "is a directory; name the file to be written");
      fd_.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    } else {
      name_.emplace(path);
      fd_ = name_->make_file();
    }
    if (!fd_) frame::throw_errno();
  });
}

OutputFile::OutputFile(const fs::SourceDirectory& directory, const std::string& name,
                       std::string shown_name, const struct stat& st)
    : shown_(std::move(shown_name)), status_(st) {
  blamed([&] {
    name_.emplace(directory, name);
    fd_ = name_->make_file();
  });
}

void OutputFile::blamed(const std::function<void()>& work) const {
  try {
    work();
  } catch (const std::system_error& error) {
    throw FileError(shown_, output_reason(error, shown_));
  }
}

void OutputFile::write(codec::Bytes bytes) {
  size_ += static_cast<std::int64_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd_.get(), bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw_file_error(shown_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void OutputFile::write_zeros(std::int64_t size) {
  if (name_) {
    if (lseek(fd_.get(), size, SEEK_CUR) < 0) throw_file_error(shown_, errno);
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
  if (!name_) {
    if (close(fd_.release()) != 0) throw_file_error(shown_, errno);
    return;
  }
  blamed([&] {
    if (::ftruncate(fd_.get(), size_) != 0) frame::throw_errno();
    const auto file = frame::make_local_file(std::move(fd_));
    frame::FileAttributes wanted =
        status_ ? file->attributes() : name_->attributes_for(*file, mode_);
    if (status_) {
      wanted.mode = status_->st_mode & mode_t{0777};
      wanted.accessed = status_->st_atim;
      wanted.modified = status_->st_mtim;
    }
    file->set_attributes(wanted);
    name_->publish(frame::RenameMode::replace);
  });
}

}  // namespace bloscfs::tools
