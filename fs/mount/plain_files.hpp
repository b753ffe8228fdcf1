#pragma once
// The plain files of a mount: opens handles of them. One that was left with the bytes of a
// container becomes a frame of those bytes once nobody has it open: the kernel keeps one set of
// pages for all who have a file open, so no two of them may read different files.

#include "fs/content/open_file.hpp"
#include "fs/mount/file_contents.hpp"
#include "fs/mount/file_kind.hpp"
#include "fs/mount/plain_handle.hpp"
#include "fs/source/local/names/namespace.hpp"
#include "fs/source/local/tree/classifier.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/support/keyed_mutex.hpp"

namespace bloscfs::fs {

class PlainFiles final : public FileKind {
 public:
  /// All outlive this object. `writeback`: the kernel has its writeback cache.
  PlainFiles(Tree& tree, Classifier& classifier, FileContents& contents, Namespace& names,
             bool writeback)
      : tree_(tree),
        classifier_(classifier),
        contents_(contents),
        names_(names),
        writeback_(writeback) {}

  std::shared_ptr<FileHandle> open(NodeId node, const SourceEntry& entry, int flags) override;
  void resize(NodeId node, std::int64_t size) override;

 private:
  /// NoTurn if end_writing() may take long.
  void before_end_of_writing(NodeId node);
  void end_writing(NodeId node);
  /// Called for a reader of `file`, who may be the last that has it open.
  void before_end_of_reading(NodeId node, const OpenPlainFile& file);
  void end_reading(NodeId node, const OpenPlainFile& file);
  /// At the close of the last writer: stores the bytes of a container as a frame. False if somebody
  /// still reads the file: the last reader then calls it again. To be called with opening_ locked.
  bool stores_unless_read(NodeId node);
  std::shared_ptr<const OpenPlainFile> shared(NodeId node, const SourceEntry& entry);
  std::shared_ptr<PlainWriter> open_for_writing(NodeId node, int flags);
  std::shared_ptr<PlainWriter> make_writer(NodeId node, int flags);

  Tree& tree_;
  Classifier& classifier_;
  FileContents& contents_;
  Namespace& names_;
  const bool writeback_;
  KeyedMutex opening_;  ///< nobody opens one while it becomes a frame
};

}  // namespace bloscfs::fs
