#pragma once
// The contents of a mount's objects that change.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "fs/commit/committer.hpp"
#include "fs/mount/written_files.hpp"
#include "fs/source/objects/objects.hpp"
#include "fs/support/once_log.hpp"

namespace bloscfs::fs {

/// Thread-safe.
class ObjectContents final : public WrittenFiles {
 public:
  /// All outlive this object; `refuge` is a folder for what cannot be committed in the end, or
  /// empty.
  ObjectContents(Objects& objects, Committer& committer, OnceLog& log,
                 const ContentServices& services, std::string refuge)
      : WrittenFiles(committer),
        objects_(objects),
        log_(log),
        services_(services),
        refuge_(std::move(refuge)) {}

  /// As Source's.
  void set_forget_attributes(std::function<void(NodeId)> forget) {
    forget_attributes_ = std::move(forget);
  }

  std::shared_ptr<ContentHome> home(NodeId node);
  /// Of a new file.
  void created(NodeId node);
  /// The content of a sparse frame, opened for a change. EROFS of what is none.
  std::shared_ptr<const OpenContainer> open_for_writing(NodeId node);
  /// Commits what waits of a file, before it is given another name.
  void commit(NodeId node);
  void removed(const std::shared_ptr<const OpenContainer>& file);
  /// Of the background: true if the content ended with its state.
  bool follow(const std::shared_ptr<Content>& content);

  void try_follow(NodeId node) override;
  bool has_gone_on(const std::shared_ptr<Content>& content, std::uint64_t epoch) override;

 private:
  Objects& objects_;
  OnceLog& log_;
  const ContentServices& services_;
  const std::string refuge_;
  std::function<void(NodeId)> forget_attributes_ = [](NodeId) {};
};

}  // namespace bloscfs::fs
