#pragma once
// The containers of a mount: opens handles of their contents.

#include "fs/mount/container_handle.hpp"
#include "fs/mount/file_contents.hpp"
#include "fs/mount/file_kind.hpp"
#include "fs/source/local/names/namespace.hpp"

namespace bloscfs::fs {

class ContainerFiles final : public FileKind {
 public:
  /// All outlive this object.
  ContainerFiles(ContainerServices services, Tree& tree, FileContents& contents, Namespace& names)
      : services_(services), tree_(tree), contents_(contents), names_(names) {}

  /// For writing: EROFS of what cannot be written, codec::Error where the file's values must stay
  /// what they are; the log says why, once.
  std::shared_ptr<FileHandle> open(NodeId node, const SourceEntry& entry, int flags) override;
  void resize(NodeId node, std::int64_t size) override;

 private:
  std::shared_ptr<FileHandle> open_for_writing(NodeId node,
                                               const std::shared_ptr<const OpenContainer>& file,
                                               int flags);
  void require_changeable(NodeId node, const Content& content);

  const ContainerServices services_;
  Tree& tree_;
  FileContents& contents_;
  Namespace& names_;
};

}  // namespace bloscfs::fs
