#pragma once
// The plain files of a mount: opens handles of them, which ask SOURCE what they are asked. A file
// that was left with the bytes of a container becomes a frame of those bytes once nobody has it
// open: the kernel keeps one set of pages for all who have a file open, so no two of them may read
// different files.

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

/// Thread-safe. ESTALE where a file is not what `entry` says, or no plain file any more.
class PlainFiles {
 public:
  /// All outlive this object, which outlives its handles. `writeback`: the kernel has its writeback
  /// cache.
  PlainFiles(Tree& tree, Classifier& classifier, const ContentServices& services, Namespace& names,
             bool writeback)
      : tree_(tree),
        classifier_(classifier),
        services_(services),
        names_(names),
        writeback_(writeback) {}

  /// `flags` as of open(2). The caller closes the handle.
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
  /// While a writer is there the file stays a plain one.
  std::shared_ptr<Writer> open_for_writing(Request& request, NodeId node, int flags);
  /// NoSlot if end_writing() may take long.
  void before_end_of_writing(Request& request, NodeId node);
  void end_writing(const Change& change, NodeId node);
  void end_reading(const Change& change, NodeId node, const OpenPlainFile& file);
  /// At the close of the last writer: stores the bytes of a container as a frame. False if somebody
  /// still reads the file: the last reader then calls it again. To be called with opening_ locked.
  bool stores_unless_read(const Change& change, NodeId node);
  void store_bytes_as_frame(const Change& change, ContentHome& home) const;

  Tree& tree_;
  Classifier& classifier_;
  const ContentServices& services_;
  Namespace& names_;
  const bool writeback_;
  KeyedMutex opening_{LockLevel::request};  ///< nobody opens one while it becomes a frame
};

}  // namespace bloscfs::fs
