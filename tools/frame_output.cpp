#include "tools/frame_output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/cframe/cframe_writer.hpp"
#include "frame/header/sframe_format.hpp"
#include "frame/open/open.hpp"
#include "frame/sframe/sframe_writer.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/mount/wait_notice.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"
#include "tools/output_file.hpp"

namespace bloscfs::tools {
namespace {

namespace filesystem = std::filesystem;

/// A transaction remembers each chunk; this bounds what that takes.
constexpr std::int64_t kChunksPerCommit = std::int64_t{1} << 17;

/// Throws unless the directory is a sparse frame, and nothing but that.
void require_sframe(const std::string& path) {
  if (!frame::open_directory(open_directory(path), {}))
    throw std::runtime_error("is a directory, and no sparse frame");
  for (const auto& entry : filesystem::directory_iterator(path))
    if (!frame::is_sframe_file(entry.path().filename().string()))
      throw std::runtime_error("is a sparse frame that holds other files, too: " +
                               entry.path().filename().string());
}

}  // namespace

FrameOutput::FrameOutput(const std::string& path, bool sparse, frame::FrameSettings settings,
                         Durability durability)
    : shown_name_(path), sparse_(sparse), durability_(durability) {
  const std::string followed = follow_symlink(path);
  const std::size_t start = followed.rfind('/') + 1;
  directory_path_ = start == 0 ? "./" : followed.substr(0, start);
  name_ = followed.substr(start);
  if (name_.empty() || path == "-")
    throw UsageError("a frame needs the name of a file to be written to");
  blaming_output([&] {
    look_at_target();
    create(settings);
  });
}

FrameOutput::FrameOutput(const fs::SourceDirectory& directory, const std::string& name,
                         std::string shown_name, bool sparse, frame::FrameSettings settings)
    : shown_name_(std::move(shown_name)),
      sparse_(sparse),
      durability_(Durability::left_to_kernel),
      directory_path_(frame::descriptor_path(directory.descriptor()) + "/"),
      name_(name) {
  blaming_output([&] {
    const auto st = directory.stat(name);
    if (st && S_ISLNK(st->st_mode)) throw std::runtime_error("is a symbolic link");
    look_at_target();
    create(settings);
  });
}

FrameOutput::~FrameOutput() {
  transaction_.reset();
  writer_.reset();
  if (temporary_.empty()) return;
  std::error_code ignored;
  filesystem::remove_all(temporary_path(), ignored);
}

void FrameOutput::blaming_output(const std::function<void()>& work) const {
  try {
    work();
  } catch (const std::exception& error) {
    throw FileError(shown_name_, reason(error));
  }
}

void FrameOutput::look_at_target() {
  const std::string path = directory_path_ + name_;
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    if (errno != ENOENT) frame::throw_errno();
    return;
  }
  mode_ = st.st_mode & mode_t{07777};
  target_ = S_ISDIR(st.st_mode) ? Kind::sparse_frame : Kind::file;
  if (target_ == Kind::file && !S_ISREG(st.st_mode)) throw std::runtime_error("is no regular file");
  const frame::UniqueFd directory(open_directory(directory_path_));
  lock_.emplace(directory.get(), name_, fs::kMountLockPatience, fs::WaitNotice(shown_name_));
  if (target_ == Kind::file) return;
  require_sframe(path);
  search_mode_ = mode_;
  if (::stat((path + "/" + frame::kSframeIndexName).c_str(), &st) != 0) frame::throw_errno();
  mode_ = st.st_mode & mode_t{07777};
}

void FrameOutput::create(frame::FrameSettings& settings) {
  directory_ = frame::make_local_store(
      open_directory(directory_path_), nullptr,
      durability_ == Durability::at_commit ? frame::Syncing::at_once : frame::Syncing::never);
  if (target_ != Kind::nothing) settings.mode = mode_ & mode_t{0777};
  const std::string name = frame::temporary_name();
  writer_ = sparse_ ? frame::create_sframe(directory_, name, settings, {})
                    : frame::create_cframe(directory_, name, settings, {});
  temporary_ = name;
  transaction_ = writer_->begin();
}

void FrameOutput::set_vlmetalayer(const std::string& name, codec::Bytes content) {
  blaming_output([&] { transaction_->set_vlmetalayer(name, content); });
}

void FrameOutput::copy_vlmetalayer(const frame::Snapshot& from,
                                   const frame::MetalayerEntry& entry) {
  blaming_output([&] { transaction_->copy_vlmetalayer(from, entry); });
}

void FrameOutput::add_chunk(std::int64_t content_end, codec::SpecialValue special,
                            codec::Bytes stored) {
  blaming_output([&] {
    if (!transaction_->info().array) transaction_->resize(content_end);
    if (special == codec::SpecialValue::none)
      transaction_->put_chunk(chunks_, stored);
    else
      transaction_->put_special(chunks_, special);
    if (++chunks_ % kChunksPerCommit != 0) return;
    transaction_->commit();
    transaction_ = writer_->begin();
  });
}

void FrameOutput::take_over_mode() const {
  if (target_ == Kind::nothing) return;
  const std::string path = temporary_path();
  const std::string file = sparse_ ? path + "/" + frame::kSframeIndexName : path;
  if (::chmod(file.c_str(), mode_) != 0) frame::throw_errno();
  if (sparse_ && search_mode_ != 0 && ::chmod(path.c_str(), search_mode_) != 0)
    frame::throw_errno();
}

void FrameOutput::take_over_attributes() const {
  const auto file = sparse_ ? directory_->open_directory(temporary_)->open(frame::kSframeIndexName)
                            : directory_->open(temporary_);
  frame::FileAttributes wanted = attributes_ ? *attributes_ : file->attributes();
  if (status_) {
    wanted.mode = status_->st_mode & mode_t{0777};
    wanted.accessed = status_->st_atim;
    wanted.modified = status_->st_mtim;
  }
  file->set_attributes(wanted);
  file->set_times(wanted.accessed, wanted.modified);
}

void FrameOutput::swap_names() {
  const int fd = directory_->descriptor();
  const bool over_file = target_ == Kind::nothing || (target_ == Kind::file && !sparse_);
  const unsigned flags = over_file ? 0 : RENAME_EXCHANGE;
  if (::renameat2(fd, temporary_.c_str(), fd, name_.c_str(), flags) != 0) {
    // Filesystems that FUSE serves may not exchange names: for a moment none has the name then.
    if (over_file || errno != EINVAL) frame::throw_errno();
    const std::string aside = frame::temporary_name();
    if (::renameat(fd, name_.c_str(), fd, aside.c_str()) != 0) frame::throw_errno();
    if (::renameat(fd, temporary_.c_str(), fd, name_.c_str()) != 0) {
      const int error = errno;
      ::renameat(fd, aside.c_str(), fd, name_.c_str());
      throw std::system_error(frame::errno_code(error));
    }
    temporary_ = aside;
    return;
  }
  // Exchanged, the temporary name is that of what was there before, which the destructor removes.
  if (over_file) temporary_.clear();
}

void FrameOutput::commit() {
  blaming_output([&] {
    transaction_->commit();
    take_over_mode();
    if (attributes_ || status_) take_over_attributes();
    swap_names();
    directory_->sync_name(name_);
  });
}

}  // namespace bloscfs::tools
