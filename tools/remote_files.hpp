#pragma once
// Opens URLs in place of local files.

#include <memory>
#include <string>

#include "frame/container/snapshot.hpp"
#include "frame/pystore/python_store.hpp"
#include "frame/remote/open_remote.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/frame_tree.hpp"

namespace bloscfs::tools {

/// Opens URLs. Thread-safe.
class RemoteFiles {
 public:
  /// If `writable` is true, single objects can be changed, which only S3 allows.
  explicit RemoteFiles(const RemoteOptions& options, bool writable = false);

  /// Returns the objects at a URL. Throws what frame::open_remote() throws.
  std::shared_ptr<frame::ObjectTree> tree(const std::string& url) const;
  /// Returns the files below a URL; null if the URL is one object. Throws what tree() throws.
  std::shared_ptr<FileTree> files(const std::string& url) const;
  /// Opens the frame, sparse frame or Bloscpack file at a URL; returns null for other contents. The
  /// URL may be the address of a leaf in a store. Throws Error, frame::RemoteError, frame::UrlError
  /// and std::system_error: EISDIR for a directory.
  std::shared_ptr<const frame::Snapshot> open(const std::string& url) const;
  /// Opens the store of python-blosc2 at a URL, which must be one object; returns null for other
  /// objects. Reads only the needed ranges. Throws what open() throws.
  std::unique_ptr<frame::PythonStore> find_store(const std::string& url) const;
  /// Like find_store(), but throws Error(malformed) if the object is not a store.
  std::unique_ptr<frame::PythonStore> open_store(const std::string& url) const;
  /// Like find_store(), but only for a ZIP file called *.b2z; returns null for everything else.
  std::unique_ptr<frame::PythonStore> find_zip_store(const std::string& url) const;

 private:
  frame::RemoteSettings settings_;
};

}  // namespace bloscfs::tools
