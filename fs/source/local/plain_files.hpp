#pragma once
// Opens and resizes the plain files of a mount, whose handles work directly on the files of SOURCE.
// The last writer may leave the bytes of a container in a plain file. In that case the daemon
// stores the file as a frame that holds these bytes, once the file has no open handles. It does not
// do so earlier because the kernel keeps one set of pages for all handles of a file: two handles
// must not read different files.

#include <cstdint>
#include <memory>

#include "fs/content/open_file.hpp"
#include "fs/source/file_handle.hpp"
#include "fs/source/local/names/namespace.hpp"
#include "fs/source/local/tree/classifier.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/support/keyed_mutex.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// Opens and resizes plain files. Throws ESTALE if a file is not what `entry` says, or no longer a
/// plain file. Thread-safe.
class PlainFiles {
 public:
  /// All arguments outlive this object, which outlives its handles. `writeback`: the kernel uses
  /// its writeback cache.
  PlainFiles(Tree& tree, Classifier& classifier, const ContentServices& services, Namespace& names,
             bool writeback)
      : tree_(tree),
        classifier_(classifier),
        services_(services),
        names_(names),
        writeback_(writeback) {}

  /// Opens a file; `flags` as in open(2). The caller closes the handle.
  std::shared_ptr<FileHandle> open(Request& request, NodeId node, const SourceEntry& entry,
                                   int flags);
  /// Sets a file's size without a handle.
  void resize(Request& request, NodeId node, std::int64_t size);

 private:
  class Handle;
  class Reader;
  class Writer;

  std::shared_ptr<Reader> open_for_reading(Request& request, NodeId node, const SourceEntry& entry,
                                           int flags);
  /// The file stays plain as long as the writer is open.
  std::shared_ptr<Writer> open_for_writing(Request& request, NodeId node, int flags);
  /// Takes a slot, or throws NoSlot, if end_writing() may take long.
  void before_end_of_writing(Request& request, NodeId node);
  void end_writing(const Change& change, NodeId node);
  void end_reading(const Change& change, NodeId node, const OpenPlainFile& file);
  /// Called when a handle is closed: if that was the last writer, and the file holds a container's
  /// bytes, stores the file as a frame. Returns false if the file still has readers; in that case
  /// the close of the last reader calls this function again. The caller holds opening_.
  bool store_as_frame_unless_read(const Change& change, NodeId node);
  void store_bytes_as_frame(const Change& change, ContentHome& home) const;

  Tree& tree_;
  Classifier& classifier_;
  const ContentServices& services_;
  Namespace& names_;
  const bool writeback_;
  /// Blocks opens of a file that is being stored as a frame.
  KeyedMutex opening_{LockLevel::request};
};

}  // namespace bloscfs::fs
