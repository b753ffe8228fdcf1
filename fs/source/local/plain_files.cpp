#include "fs/source/local/plain_files.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/uio.h>

#include "frame/store/byte_source.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/encoding/plain_to_frame.hpp"
#include "fs/source/local/files/plain_file.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

/// At most this much is copied by one request, so that its slot is free soon. Programs call
/// copy_file_range(2) again for the rest.
constexpr std::size_t kCopiedAtOnce = std::size_t{64} << 20;

/// Throws ESTALE if the file was replaced since its entry was read: for example, when the last
/// writer closed a file with a frame's bytes. A filesystem that finds files by their names reports
/// that as ENOENT.
frame::UniqueFd open_to_read(const SourceObject& object) {
  try {
    frame::UniqueFd fd = object.open(O_RDONLY);
    if (frame::status_of(fd.get()).st_nlink != 0) return fd;
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
  }
  frame::throw_errno(ESTALE, object.name());
}

}  // namespace

// --- handles

class PlainFiles::Handle : public FileHandle {
 public:
  /// `descriptor` stays open as long as the handle exists.
  Handle(PlainFiles& files, NodeId node, int flags, int descriptor)
      : FileHandle(node, flags), files_(files), descriptor_(descriptor) {}

  struct stat attributes(Request& /*request*/) const override {
    return files_.tree_.owned(frame::status_of(descriptor_));
  }
  ReadBytes read(Request& /*request*/, std::int64_t offset, std::int64_t size) override {
    return DescriptorRange{descriptor_, offset, static_cast<std::size_t>(size)};
  }
  std::int64_t seek(Request& /*request*/, std::int64_t offset, int whence) const override {
    return seek_plain(descriptor_, offset, whence);
  }
  bool has_writers() const override { return files_.tree_.plain_writers(node()) > 0; }
  std::size_t copy_to(Request& /*request*/, int descriptor,
                      const CopiedRange& range) const override {
    return copy_plain(descriptor_, range.from_offset, descriptor, range.to_offset, range.size,
                      range.flags);
  }
  void sync(Request& request) override {
    request.need_slot();
    sync_plain(descriptor_);
  }

 protected:
  PlainFiles& files_;

 private:
  const int descriptor_;
};

/// A handle for reading. All readers of a file share one descriptor.
class PlainFiles::Reader final : public Handle {
 public:
  Reader(PlainFiles& files, NodeId node, int flags, std::shared_ptr<const OpenPlainFile> file)
      : Handle(files, node, flags, file->descriptor.get()), file_(std::move(file)) {}

  void before_close(Request& request) override {
    if (file_->becomes_frame_at_close) files_.before_end_of_writing(request, node());
  }
  void close(Request& request) override { files_.end_reading(Change(request), node(), *file_); }

 private:
  const std::shared_ptr<const OpenPlainFile> file_;
};

/// A handle for writing. Each writer has a descriptor of its own.
class PlainFiles::Writer final : public Handle {
 public:
  Writer(PlainFiles& files, NodeId node, int flags, PlainFile written)
      : Handle(files, node, flags, written.fd()), written_(std::move(written)) {}

  std::size_t write(Request& /*request*/, const WritePlace& place, codec::Bytes bytes) override {
    // The cast is safe: the bytes are only read.
    const iovec piece{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
    return put(place, std::span(&piece, 1));
  }
  std::size_t write(Request& /*request*/, const WritePlace& place,
                    std::span<PooledBuffer> cells) override {
    std::vector<iovec> pieces;
    pieces.reserve(cells.size());
    for (PooledBuffer& cell : cells) pieces.push_back({cell.data(), cell.size()});
    return put(place, pieces);
  }
  void truncate(Request& /*request*/, std::int64_t size) override { written_.truncate(size); }
  void allocate(Request& /*request*/, int mode, std::int64_t offset, std::int64_t size) override {
    written_.allocate(mode, offset, size);
  }
  std::size_t copy_from(Request& request, const FileHandle& source,
                        const CopiedRange& range) override {
    request.need_slot();
    CopiedRange first = range;
    first.size = std::min(range.size, kCopiedAtOnce);
    return source.copy_to(request, written_.fd(), first);
  }
  void before_close(Request& request) override { files_.before_end_of_writing(request, node()); }
  void close(Request& request) override { files_.end_writing(Change(request), node()); }

 private:
  std::size_t put(const WritePlace& place, std::span<const iovec> pieces) const {
    // With the writeback cache the kernel itself sets the modification time, so write_pages() keeps
    // it.
    return place.are_pages ? written_.write_pages(pieces, place.offset, files_.writeback_)
                           : written_.write(pieces, place.offset);
  }

  const PlainFile written_;
};

std::shared_ptr<FileHandle> PlainFiles::open(Request& request, NodeId node,
                                             const SourceEntry& entry, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY) return open_for_writing(request, node, flags);
  return open_for_reading(request, node, entry, flags);
}

std::shared_ptr<PlainFiles::Reader> PlainFiles::open_for_reading(Request& request, NodeId node,
                                                                 const SourceEntry& entry,
                                                                 int flags) {
  const KeyedMutex::Lock lock(request, opening_, node);
  auto file = tree_.opened_as<OpenPlainFile>(node);
  if (!file)
    file = tree_.share_opened(
        node,
        std::make_shared<const OpenPlainFile>(tree_.attributes_of(entry),
                                              open_to_read(*tree_.object(node, entry))),
        entry);
  auto reader = std::make_shared<Reader>(*this, node, flags, file);
  file->readers++;
  return reader;
}

std::shared_ptr<PlainFiles::Writer> PlainFiles::open_for_writing(Request& request, NodeId node,
                                                                 int flags) {
  const KeyedMutex::Lock lock(request, opening_, node);
  tree_.begin_plain_writing(node);
  try {
    // With the writeback cache the kernel gives the offset of each append, so O_APPEND is left out.
    const int ignored = writeback_ ? O_APPEND : 0;
    return std::make_shared<Writer>(*this, node, flags,
                                    PlainFile(*tree_.object(node), flags & ~ignored));
  } catch (...) {
    tree_.end_plain_writing(node);
    throw;
  }
}

// --- what becomes a frame

/// Also called for a writer that is not the last one yet: the other writers may be closed before
/// this one gets to end_writing().
void PlainFiles::before_end_of_writing(Request& request, NodeId node) {
  bool may_take_long = false;
  try {
    may_take_long = classifier_.holds_frame(*tree_.object(node));
  } catch (const std::exception&) {
    return;  // end_writing() will meet and log the same error
  }
  if (may_take_long) request.need_slot();
}

/// May store the file as a frame, which takes long.
void PlainFiles::end_writing(const Change& change, NodeId node) {
  const KeyedMutex::Lock lock(change, opening_, node);
  if (store_as_frame_unless_read(change, node)) tree_.end_plain_writing(node);
}

bool PlainFiles::store_as_frame_unless_read(const Change& change, NodeId node) {
  if (tree_.plain_writers(node) != 1) return true;  // not the last writer
  try {
    if (!classifier_.holds_frame(*tree_.object(node))) return true;
    const auto read = tree_.opened_as<OpenPlainFile>(node);
    if (read && read->readers > 0) {
      read->becomes_frame_at_close = true;
      return false;
    }
    store_bytes_as_frame(change, *names_.home(node));
  } catch (const std::exception& error) {
    log::error(fmt::format("{}: has the bytes of a frame, and is left as it is: {}",
                           tree_.display_path(node), error.what()));
  }
  return true;
}

/// Stores the file's bytes as the contents of a flat frame, which give_name() puts in the file's
/// place. So the mount shows the same bytes as before.
void PlainFiles::store_bytes_as_frame(const Change& change, ContentHome& home) const {
  const StoredPlace place = home.place_now(change);
  if (place.is_unlinked || place.has_links) return;
  const auto source = place.directory->open(place.name);
  const frame::FileStamp stamp = source->stamp();
  if (frame::id_of(stamp) != place.meant) return;
  const StoredFrame made = store_as_frame(change, SourceBytes(*source), place.directory,
                                          services_.options, services_.cache, services_.pool);
  try {
    made.writer->set_attributes(source->attributes());
    const frame::FileId made_id = frame::id_of(made.writer->stamp());
    std::string name;
    const auto choose = [&](NameLock& name_lock) {
      name = name_lock.names().flat;
      if (name_lock.place().meant != place.meant || name.empty())
        frame::throw_errno(ESTALE, place.name + ": renamed or replaced meanwhile");
      return std::optional(ContentHome::ChosenName{name, ShownAs::flat});
    };
    const std::string given = home.lock_to_replace(change, choose)
                                  ->give_name(made.name, made_id, name, ShownAs::flat,
                                              [&] { return source->stamp() == stamp; });
    if (given != name) home.take_final_name(change, made_id, name);
  } catch (...) {
    if (place.directory->stamp(made.name)) place.directory->unlink(made.name);
    throw;
  }
}

void PlainFiles::end_reading(const Change& change, NodeId node, const OpenPlainFile& file) {
  const KeyedMutex::Lock lock(change, opening_, node);
  if (--file.readers > 0 || !file.becomes_frame_at_close.exchange(false)) return;
  if (store_as_frame_unless_read(change, node)) tree_.end_plain_writing(node);
}

void PlainFiles::resize(Request& request, NodeId node, std::int64_t size) {
  // The close below may have to store the file as a frame.
  request.need_slot();
  const auto handle = open_for_writing(request, node, O_WRONLY);
  const Change change(request);
  try {
    handle->truncate(change, size);
  } catch (const std::exception&) {
    handle->close(change);
    throw;
  }
  handle->close(change);
}

}  // namespace bloscfs::fs
