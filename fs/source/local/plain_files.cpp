#include "fs/source/local/plain_files.hpp"

#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "frame/store/byte_source.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/encoding/plain_to_frame.hpp"
#include "fs/support/lock_breaks.hpp"
#include "fs/support/log.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {
namespace {

frame::UniqueFd another(const PlainFile& file) {
  frame::UniqueFd fd(::fcntl(file.fd(), F_DUPFD_CLOEXEC, 0));
  if (!fd) frame::throw_errno("fcntl");
  return fd;
}

/// ESTALE if it was replaced since its entry was read, as by the close of a writer who had put the
/// bytes of a frame there. A filesystem that finds files by their names says ENOENT then.
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

std::shared_ptr<FileHandle> PlainFiles::open(NodeId node, const SourceEntry& entry, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY) return open_for_writing(node, flags);
  auto file = shared(node, entry);
  const OpenPlainFile& read = *file;
  return std::make_shared<PlainHandle>(
      tree_, node, flags, std::move(file),
      PlainHandle::Owner{[this, node, &read] { before_end_of_reading(node, read); },
                         [this, node, &read] { end_reading(node, read); }});
}

std::shared_ptr<const OpenPlainFile> PlainFiles::shared(NodeId node, const SourceEntry& entry) {
  const KeyedMutex::Lock lock(opening_, node);
  auto file = tree_.opened_as<OpenPlainFile>(node);
  if (!file)
    file = tree_.share_opened(
        node,
        std::make_shared<const OpenPlainFile>(tree_.attributes_of(entry),
                                              open_to_read(*tree_.object(node, entry))),
        entry);
  file->readers++;
  return file;
}

std::shared_ptr<PlainWriter> PlainFiles::open_for_writing(NodeId node, int flags) {
  const KeyedMutex::Lock lock(opening_, node);
  tree_.begin_plain_writing(node);
  try {
    return make_writer(node, flags);
  } catch (const std::exception&) {
    tree_.end_plain_writing(node);
    throw;
  }
}

/// Each writer has the source file open for itself.
std::shared_ptr<PlainWriter> PlainFiles::make_writer(NodeId node, int flags) {
  const auto object = tree_.object(node);
  // With its writeback cache the kernel itself says where the end is.
  const int ignored = writeback_ ? O_APPEND : 0;
  PlainFile written(*object, flags & ~ignored);
  auto file = tree_.opened_as<OpenPlainFile>(node);
  if (!file) file = std::make_shared<const OpenPlainFile>(object->stat(), another(written));
  return std::make_shared<PlainWriter>(
      tree_, node, flags, std::move(file), std::move(written), writeback_,
      PlainWriter::Owner{[this, node] { before_end_of_writing(node); },
                         [this, node] { end_writing(node); }});
}

/// Also for a writer that is not the last one now: the others may close the file first.
void PlainFiles::before_end_of_writing(NodeId node) {
  bool may_take_long = false;
  try {
    may_take_long = classifier_.is_container(*tree_.object(node));
  } catch (const std::exception&) {
    return;  // end_writing() meets the same error, and logs it
  }
  if (may_take_long) TurnAtNeed::need();
}

/// To store the file as a frame takes long.
void PlainFiles::end_writing(NodeId node) {
  TurnAtNeed::need_no_more();
  const KeyedMutex::Lock lock(opening_, node);
  if (stores_unless_read(node)) tree_.end_plain_writing(node);
}

bool PlainFiles::stores_unless_read(NodeId node) {
  if (tree_.plain_writers(node) != 1) return true;
  try {
    if (!classifier_.is_container(*tree_.object(node))) return true;
    const auto read = tree_.opened_as<OpenPlainFile>(node);
    if (read && read->readers > 0) {
      read->owes_frame = true;
      return false;
    }
    store_bytes_as_frame(*names_.home(node));
  } catch (const std::exception& error) {
    log::error(fmt::format("{}: has the bytes of a frame, and is left as it is: {}",
                           tree_.told_path(node), error.what()));
  }
  return true;
}

/// By a temporary file and give_name(), as a flat frame.
void PlainFiles::store_bytes_as_frame(ContentHome& home) const {
  const StoredPlace place = home.place_now();
  if (place.is_unlinked || place.has_links) return;
  const auto source = place.directory->open(place.name);
  const frame::FileStamp stamp = source->stamp();
  if (frame::id_of(stamp) != place.meant) return;
  const StoredFrame made = store_as_frame(SourceBytes(*source), place.directory, services_.options,
                                          services_.cache, services_.pool);
  try {
    made.writer->set_attributes(source->attributes());
    const frame::FileId made_id = frame::id_of(made.writer->stamp());
    std::string name, given;
    Attempts::run([&] {
      const auto name_lock = home.lock_name();
      name = name_lock->names().flat;
      if (name_lock->place().meant != place.meant || name.empty())
        frame::throw_errno(ESTALE, place.name + ": renamed or replaced meanwhile");
      name_lock->before_replacing();
      name_lock->before_giving_name(name, ShownAs::flat);
      given = name_lock->give_name(made.name, made_id, name, ShownAs::flat,
                                   [&] { return source->stamp() == stamp; });
    });
    if (given != name) Attempts::run([&] { home.lock_name()->take_own_name(made_id, name); });
  } catch (...) {
    if (place.directory->stamp(made.name)) place.directory->unlink(made.name);
    throw;
  }
}

void PlainFiles::before_end_of_reading(NodeId node, const OpenPlainFile& file) {
  if (file.owes_frame) before_end_of_writing(node);
}

void PlainFiles::end_reading(NodeId node, const OpenPlainFile& file) {
  TurnAtNeed::need_no_more();
  const KeyedMutex::Lock lock(opening_, node);
  if (--file.readers > 0 || !file.owes_frame.exchange(false)) return;
  if (stores_unless_read(node)) tree_.end_plain_writing(node);
}

void PlainFiles::resize(NodeId node, std::int64_t size) {
  const auto handle = open_for_writing(node, O_WRONLY);
  try {
    handle->truncate(size);
    handle->before_close();
  } catch (const NoTurn&) {
    // The request is served again, and its next close() stores the file.
    tree_.end_plain_writing(node);
    throw;
  } catch (const std::exception&) {
    handle->close();
    throw;
  }
  handle->close();
}

}  // namespace bloscfs::fs
