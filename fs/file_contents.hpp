#pragma once
// The contents of a mount's containers by node: opens them, and does to them what changes of names
// and attributes ask for.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/committer.hpp"
#include "fs/contents.hpp"
#include "fs/open_file.hpp"
#include "fs/tree.hpp"

namespace bloscfs::fs {

/// Thread-safe.
class FileContents final : public Contents {
 public:
  /// All outlive this object.
  FileContents(Tree& tree, Classifier& classifier, Committer& committer, ContentServices services)
      : tree_(tree), classifier_(classifier), committer_(committer), services_(services) {}

  /// The content of a container, opened if it is not yet: then ESTALE tells that its file is being
  /// replaced.
  std::shared_ptr<const OpenFile> open(NodeId node, const SourceEntry& entry);
  /// The same for a change, which is committed some time after `queue`.
  std::shared_ptr<const OpenFile> open_for_writing(NodeId node, std::shared_ptr<ContentHome> home);
  /// It has changed, and is committed soon if nobody has it open for writing.
  void changed(const std::shared_ptr<const OpenFile>& file);

  void created(NodeId node, std::shared_ptr<ContentHome> home) override;
  void commit(const std::vector<NodeId>& nodes, bool sync) override;
  std::shared_ptr<void> hold_flat(NodeId node, std::shared_ptr<ContentHome> home) override;
  void renamed(NodeId node, std::shared_ptr<ContentHome> home) override;
  void removed(NodeId node) override;
  void resize(NodeId node, std::shared_ptr<ContentHome> home, std::int64_t size) override;
  bool set_times(NodeId node, std::shared_ptr<ContentHome> home, const timespec& accessed,
                 const timespec& modified) override;
  void set_vlmetalayer(NodeId node, std::shared_ptr<ContentHome> home, const std::string& name,
                       const std::optional<std::string>& content, int flags) override;
  void store_bytes_as_frame(NodeId node, std::shared_ptr<ContentHome> home) override;

 private:
  Tree& tree_;
  Classifier& classifier_;
  Committer& committer_;
  const ContentServices services_;
};

}  // namespace bloscfs::fs
