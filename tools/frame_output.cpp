#include "tools/frame_output.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/cframe/cframe_writer.hpp"
#include "frame/open/open.hpp"
#include "frame/sframe/sframe_writer.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"
#include "tools/interrupt.hpp"

namespace bloscfs::tools {
namespace {

/// A new transaction begins after this many chunks, because a transaction needs memory for each of
/// its chunks.
constexpr std::int64_t kChunksPerCommit = std::int64_t{1} << 17;

/// Returns a duplicate of a descriptor.
frame::UniqueFd another(int fd) {
  frame::UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) frame::throw_errno();
  return copy;
}

/// Throws unless the directory is a sparse frame and has no other files.
void require_sframe(int directory) {
  if (!frame::open_directory(another(directory), {}))
    throw std::runtime_error("is a directory, and no sparse frame");
  for (const std::string& name : frame::make_local_store(another(directory), nullptr)->names())
    if (name != "." && name != ".." && !frame::is_sframe_file(name))
      throw std::runtime_error("is a sparse frame that holds other files, too: " + name);
}

/// Opens a file of a sparse frame for its attributes.
std::shared_ptr<frame::StoreFile> open_in(int directory, const std::string& name) {
  frame::UniqueFd fd(
      ::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) frame::throw_errno(name);
  return frame::make_local_file(std::move(fd));
}

}  // namespace

FrameOutput::FrameOutput(const std::string& path, bool sparse, frame::FrameSettings settings,
                         mode_t mode, Durability durability)
    : shown_name_(path), sparse_(sparse), mode_(mode), durability_(durability) {
  if (path == "-" || path.empty() || path.ends_with('/'))
    throw UsageError("a frame needs the name of a file to be written to");
  with_output_errors([&] {
    name_.emplace(path);
    check_target();
    create(settings);
  });
}

FrameOutput::FrameOutput(const fs::SourceDirectory& directory, const std::string& name,
                         std::string shown_name, bool sparse, frame::FrameSettings settings)
    : shown_name_(std::move(shown_name)), sparse_(sparse), durability_(Durability::left_to_kernel) {
  with_output_errors([&] {
    name_.emplace(directory, name);
    check_target();
    create(settings);
  });
}

FrameOutput::~FrameOutput() {
  transaction_.reset();
  writer_.reset();
}

void FrameOutput::with_output_errors(const std::function<void()>& work) const {
  try {
    work();
  } catch (const std::exception& error) {
    throw FileError(shown_name_, output_reason(error, shown_name_));
  }
}

void FrameOutput::check_target() {
  const auto st = name_->status();
  if (!st) return;
  if (S_ISLNK(st->st_mode)) throw std::runtime_error("is a symbolic link");
  target_ = S_ISDIR(st->st_mode) ? Kind::sparse_frame : Kind::file;
  if (target_ == Kind::file && !S_ISREG(st->st_mode))
    throw std::runtime_error("is not a regular file");
  lock_.emplace(name_->directory(), name_->name(), shown_name_);
  if (target_ == Kind::file) return;
  replaced_.reset(::openat(name_->directory(), name_->name().c_str(),
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!replaced_) frame::throw_errno();
  require_sframe(replaced_.get());
}

void FrameOutput::create(frame::FrameSettings& settings) {
  const auto syncing =
      durability_ == Durability::at_commit ? frame::Syncing::at_once : frame::Syncing::never;
  const auto store = frame::make_local_store(another(name_->directory()), nullptr, syncing);
  // Only the owner can open the frame until commit() gives it its attributes.
  settings.mode = 0600;
  const std::string name = frame::temporary_name();
  const InterruptHold hold;
  writer_ = sparse_ ? frame::create_sframe(store, name, settings, {})
                    : frame::create_cframe(store, name, settings, {});
  name_->set_temporary(name);
  if (sparse_) {
    made_.reset(::openat(name_->directory(), name.c_str(),
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!made_) frame::throw_errno();
  }
  transaction_ = writer_->begin();
}

void FrameOutput::set_vlmetalayer(const std::string& name, codec::Bytes content) {
  with_output_errors([&] { transaction_->set_vlmetalayer(name, content); });
}

void FrameOutput::copy_vlmetalayer(const frame::Snapshot& from,
                                   const frame::MetalayerEntry& entry) {
  with_output_errors([&] { transaction_->copy_vlmetalayer(from, entry); });
}

void FrameOutput::add_chunk(std::int64_t content_end, codec::SpecialValue special,
                            codec::Bytes stored) {
  with_output_errors([&] {
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

frame::FileAttributes FrameOutput::attributes_for(const frame::StoreFile& made) const {
  if (attributes_) return *attributes_;
  if (status_) {
    frame::FileAttributes wanted = made.attributes();
    wanted.mode = status_->st_mode & mode_t{0777};
    wanted.accessed = status_->st_atim;
    wanted.modified = status_->st_mtim;
    return wanted;
  }
  if (target_ != Kind::sparse_frame) return name_->attributes_for(made, mode_);
  frame::FileAttributes wanted = open_in(replaced_.get(), frame::kSframeIndexName)->attributes();
  wanted.accessed = made.attributes().accessed;
  wanted.modified = made.attributes().modified;
  return wanted;
}

/// Opens the files by name. That is safe, since until the end only the owner can put files into the
/// directory.
void FrameOutput::give_attributes_to_sframe() const {
  frame::FileAttributes wanted = attributes_for(*open_in(made_.get(), frame::kSframeIndexName));
  if (target_ != Kind::sparse_frame) wanted.mode &= 0777;
  frame::FileAttributes plain = wanted;
  plain.extended.clear();
  plain.mode &= 0777;
  for (const std::string& name : frame::make_local_store(another(made_.get()), nullptr)->names())
    if (frame::is_sframe_file(name) && name != frame::kSframeIndexName)
      open_in(made_.get(), name)->set_attributes(plain);
  open_in(made_.get(), frame::kSframeIndexName)->set_attributes(wanted);
  // Users who can read the files can also search the directory.
  mode_t search = plain.mode | ((plain.mode & mode_t{0444}) >> 2);
  if (replaced_) search = frame::status_of(replaced_.get()).st_mode & mode_t{0777};
  if (::fchown(made_.get(), wanted.owner, wanted.group) != 0 && errno != EPERM)
    frame::throw_errno();
  if (::fchmod(made_.get(), search) != 0) frame::throw_errno();
}

void FrameOutput::give_attributes() const {
  if (sparse_) return give_attributes_to_sframe();
  frame::UniqueFd made(::openat(name_->directory(), name_->temporary().c_str(),
                                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!made) frame::throw_errno();
  // Another program may have given the temporary's name to another file.
  const auto file = frame::make_local_file(std::move(made));
  if (frame::id_of(file->stamp()) != frame::id_of(writer_->stamp()))
    frame::throw_errno(ESTALE, "the temporary was replaced");
  writer_->set_attributes(attributes_for(*file));
}

void FrameOutput::swap_names() {
  const InterruptHold hold;
  const int fd = name_->directory();
  const std::string temporary = name_->temporary();
  const std::string& name = name_->name();
  // A plain rename can replace a file by a file, but not the directory of a sparse frame, and not a
  // file by a directory.
  const bool over_file = target_ == Kind::nothing || (target_ == Kind::file && !sparse_);
  const unsigned flags = over_file ? 0 : RENAME_EXCHANGE;
  if (::renameat2(fd, temporary.c_str(), fd, name.c_str(), flags) != 0) {
    // Some filesystems, such as FUSE filesystems, cannot exchange names. Then no file has the name
    // for a moment. `hold` keeps an interrupt from ending the program in that moment.
    if (over_file || errno != EINVAL) frame::throw_errno();
    const std::string backup_name = frame::temporary_name();
    if (::renameat(fd, name.c_str(), fd, backup_name.c_str()) != 0) frame::throw_errno();
    if (::renameat(fd, temporary.c_str(), fd, name.c_str()) != 0) {
      const int error = errno;
      ::renameat(fd, backup_name.c_str(), fd, name.c_str());
      throw std::system_error(frame::errno_code(error));
    }
    name_->set_temporary(backup_name);
    return;
  }
  // After an exchange, the replaced file has the temporary name. The destructor removes it.
  if (over_file) name_->set_temporary({});
}

void FrameOutput::commit() {
  with_output_errors([&] {
    transaction_->commit();
    give_attributes();
    swap_names();
    if (durability_ == Durability::at_commit)
      frame::make_local_store(another(name_->directory()), nullptr)->sync_name(name_->name());
  });
}

std::int64_t FrameOutput::stored_bytes() const {
  return writer_->snapshot()->info().stored_bytes();
}

}  // namespace bloscfs::tools
