#pragma once
// Walks the objects below a URL that may be frames.

#include <memory>
#include <string>
#include <vector>

#include "frame/store/object_frames.hpp"
#include "tools/frame_tree.hpp"

namespace bloscfs::tools {

/// Lists each directory when the walk reaches it. Opens an object only in open().
class RemoteTree final : public FileTree {
 public:
  /// `url` names the directory in messages. Throws what ObjectTree::list() throws.
  RemoteTree(std::shared_ptr<frame::ObjectTree> objects, const std::string& url);

  std::optional<TreeFile> next() override;
  std::shared_ptr<const frame::Snapshot> open(const TreeFile& file) const override;
  std::unique_ptr<frame::PythonStore> open_zip_store(const TreeFile& file) const override;
  bool still_exists(const TreeFile&) const override { return true; }

 private:
  struct Level {
    std::string path, shown;
    std::vector<frame::ObjectEntry> entries;  ///< the next one is last
  };

  void enter(std::string path, std::string shown, std::vector<frame::ObjectEntry> entries);
  std::optional<TreeFile> visit(const frame::ObjectEntry& entry, std::string path,
                                std::string shown);

  const std::shared_ptr<frame::ObjectTree> objects_;
  const std::shared_ptr<frame::ObjectFrames> frames_;
  std::vector<Level> levels_;
};

}  // namespace bloscfs::tools
