#pragma once
// The contents of a mount's containers by node: makes their handles, and does to them what changes
// of names and attributes ask for.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "fs/commit/committer.hpp"
#include "fs/content/open_file.hpp"
#include "fs/mount/container_handle.hpp"
#include "fs/mount/metalayer_edits.hpp"
#include "fs/source/contents.hpp"
#include "fs/source/services.hpp"
#include "fs/source/source.hpp"

namespace bloscfs::fs {

/// Thread-safe. Whether files or objects hold the contents is the Source's alone.
class FileContents final : public Contents {
 public:
  /// All outlive this object.
  FileContents(Committer& committer, const ContentServices& services,
               const ReadingServices& reading)
      : committer_(committer), services_(services), reading_(reading) {}

  /// Called once, before the first request. `source` outlives the last one.
  void set_source(Source& source);

  std::shared_ptr<FileHandle> open(NodeId node, const std::shared_ptr<const OpenContainer>& file,
                                   int flags) override;
  void follow(NodeId node) override;
  void try_follow(NodeId node) override;
  /// Lets a content that somebody writes go on from another program's state. True if it went on.
  /// What is being written is waited for up to two seconds, unless too many do so already; then
  /// BeingWritten.
  bool go_on(const std::shared_ptr<Content>& content,
             IfBeingWritten unfinished = IfBeingWritten::wait);
  bool has_gone_on(const std::shared_ptr<Content>& content, std::uint64_t epoch) override;
  void changed(const std::shared_ptr<const OpenContainer>& file,
               FairShare::Part descriptors) override;

  void created(NodeId node, const struct stat& shown) override;
  void commit(const std::vector<NodeId>& nodes) override;
  std::shared_ptr<void> hold_flat(NodeId node) override;
  void represent_anew(NodeId node) override;
  void removed(const std::shared_ptr<const OpenContainer>& file,
               const std::function<bool()>& has_name) override;
  void resize(NodeId node, std::int64_t size) override;
  bool set_times(NodeId node, const timespec& accessed, const timespec& modified) override;
  /// Sets a metalayer, or removes it. `flags` as in setxattr(2). EINVAL and ENOSPC for what a frame
  /// has no room for; EOPNOTSUPP for fixed ones of a file with hard links.
  void set_metalayer(NodeId node, const LayerName& name, const LayerChange& content, int flags);

 private:
  std::shared_ptr<FileHandle> open_for_writing(NodeId node,
                                               const std::shared_ptr<const OpenContainer>& file,
                                               int flags);
  std::shared_ptr<const OpenContainer> open_to_change(NodeId node);
  void require_changeable(NodeId node, const Content& content);
  using Change = std::function<void(const std::shared_ptr<const OpenContainer>&)>;
  /// Runs `change` on the content opened for it, again where that finds another program's change.
  void change(NodeId node, FairShare::Part descriptors, const Change& change);
  void commit_briefly(const Committer::Contents& contents);

  Source* source_ = nullptr;
  std::optional<const ContainerServices> container_services_;
  Committer& committer_;
  const ContentServices& services_;
  const ReadingServices& reading_;
  std::atomic<int> waiting_{0};  ///< for what is being written
  MetalayerEdits metalayers_;
};

}  // namespace bloscfs::fs
