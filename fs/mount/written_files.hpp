#pragma once
// What a mount does for the files that it has open and whose contents change.

#include <cstdint>
#include <memory>
#include <utility>

#include "fs/commit/committer.hpp"
#include "fs/content/open_file.hpp"
#include "fs/source/local/tree/node_table.hpp"
#include "fs/support/fair_share.hpp"

namespace bloscfs::fs {

/// Thread-safe.
class WrittenFiles {
 public:
  /// `committer` outlives this object.
  explicit WrittenFiles(Committer& committer) : committer_(committer) {}
  virtual ~WrittenFiles() = default;
  WrittenFiles(const WrittenFiles&) = delete;
  WrittenFiles& operator=(const WrittenFiles&) = delete;

  /// Looks whether somebody else has changed the file of what is open of a node, and lets the
  /// content go on from what is there now. An error is logged once.
  virtual void try_follow(NodeId node) = 0;
  /// True if the content went on since that `epoch`, for whoever asked first.
  virtual bool has_gone_on(const std::shared_ptr<Content>& content, std::uint64_t epoch) = 0;
  /// Notes that a file has changed. If nobody has it open for writing, a commit is queued, which
  /// keeps the `descriptors` of the closed handle until it is done.
  void changed(const std::shared_ptr<const OpenContainer>& file, FairShare::Part descriptors) {
    committer_.note(file->content, file);
    if (!file->content->has_writers())
      committer_.queue(file->content, committer_.commits_at_close(), std::move(descriptors));
  }
  /// The last size that a writer knew, at its close.
  virtual void left(NodeId /*node*/, std::int64_t /*size*/) {}
  /// True where a file is committed before its close is answered (fs/mount/space_watch.hpp).
  virtual bool is_space_scarce() { return false; }
  /// ENOSPC where there is no room for so many bytes more.
  virtual void require_space(std::int64_t /*size*/) {}

 protected:
  Committer& committer_;
};

}  // namespace bloscfs::fs
