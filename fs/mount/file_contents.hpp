#pragma once
// The contents of a mount's containers by node: opens them, and does to them what changes of names
// and attributes ask for.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fs/commit/committer.hpp"
#include "fs/content/open_file.hpp"
#include "fs/mount/descriptor_shares.hpp"
#include "fs/mount/metalayer_edits.hpp"
#include "fs/mount/space_watch.hpp"
#include "fs/mount/written_files.hpp"
#include "fs/source/local/names/contents.hpp"
#include "fs/source/local/tree/tree.hpp"

namespace bloscfs::fs {

/// Thread-safe.
class FileContents final : public Contents, public WrittenFiles {
 public:
  /// All outlive this object.
  FileContents(Tree& tree, Classifier& classifier, Committer& committer,
               DescriptorShares& descriptors, SpaceWatch& space, ContentServices services)
      : WrittenFiles(committer),
        tree_(tree),
        classifier_(classifier),
        descriptors_(descriptors),
        space_(space),
        services_(std::move(services)) {}

  /// The content of a container, opened if it is not yet: then ESTALE tells that its file is being
  /// replaced.
  std::shared_ptr<const OpenContainer> open(NodeId node, const SourceEntry& entry);
  /// The same of whatever the node's source is now; tried again while that is being replaced.
  std::shared_ptr<const OpenContainer> open(NodeId node);
  /// The same for a change, which is committed some time after `queue`.
  std::shared_ptr<const OpenContainer> open_for_writing(NodeId node,
                                                        std::shared_ptr<ContentHome> home);
  /// Looks whether another program has changed the file of what is open of a node, and lets the
  /// content go on from what is there now. Errors as follow_source's.
  void follow(NodeId node);
  void try_follow(NodeId node) override;
  /// The same of a content that somebody writes. True if it went on. What is being written is
  /// waited for up to two seconds, unless too many do so already; then BeingWritten.
  bool go_on(const std::shared_ptr<Content>& content,
             IfBeingWritten unfinished = IfBeingWritten::wait);
  bool has_gone_on(const std::shared_ptr<Content>& content, std::uint64_t epoch) override;
  void left(NodeId node, std::int64_t size) override { tree_.keep_last_size(node, size); }
  bool is_space_scarce() override { return space_.is_scarce(); }
  void require_space(std::int64_t size) override { space_.require(size); }

  void created(NodeId node, std::shared_ptr<ContentHome> home, const struct stat& file) override;
  void commit(const std::vector<NodeId>& nodes) override;
  std::shared_ptr<void> hold_flat(NodeId node, std::shared_ptr<ContentHome> home) override;
  void renamed(NodeId node, std::shared_ptr<ContentHome> home) override;
  void removed(NodeId node) override;
  void resize(NodeId node, std::shared_ptr<ContentHome> home, std::int64_t size) override;
  bool set_times(NodeId node, std::shared_ptr<ContentHome> home, const timespec& accessed,
                 const timespec& modified) override;
  void keep_through(NodeId node, const std::function<void()>& change) override;
  void set_metalayer(NodeId node, std::shared_ptr<ContentHome> home, const LayerName& name,
                     LayerChange content, int flags) override;
  void store_bytes_as_frame(ContentHome& home) override;

 private:
  /// Runs `change` on the content opened for it, again where that finds another program's change.
  template <typename Change>
  void change(NodeId node, const std::shared_ptr<ContentHome>& home, FairShare::Part descriptors,
              const Change& change);
  /// For a request that has no turn.
  void commit_briefly(const Committer::Contents& contents);

  Tree& tree_;
  Classifier& classifier_;
  DescriptorShares& descriptors_;
  SpaceWatch& space_;
  const ContentServices services_;
  std::atomic<int> waiting_{0};  ///< for what is being written
  Mutex told_mutex_;
  std::string told_ GUARDED_BY(told_mutex_);  ///< by the log, last
  MetalayerEdits metalayers_;
};

}  // namespace bloscfs::fs
