#pragma once
// URLs in the place of files.

#include <memory>
#include <string>

#include "frame/container/snapshot.hpp"
#include "frame/pystore/python_store.hpp"
#include "frame/remote/open_remote.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/frame_tree.hpp"

namespace bloscfs::tools {

/// Opens what URLs name. Thread-safe.
class RemoteFiles {
 public:
  /// `writable`: what is opened can be changed, by single objects.
  explicit RemoteFiles(const RemoteOptions& options, bool writable = false);

  /// What a URL stands for. Throws as frame::open_remote().
  std::shared_ptr<frame::ObjectTree> tree(const std::string& url) const;
  /// What is below a URL that stands for a directory; null where it stands for one object. Errors
  /// as of tree().
  std::shared_ptr<FileTree> files(const std::string& url) const;
  /// The frame, sparse frame or Bloscpack file at a URL; null for other bytes. Throws Error,
  /// frame::RemoteError, frame::UrlError, std::system_error: EISDIR for a directory. The URL may be
  /// the address of a leaf in a store.
  std::shared_ptr<const frame::Snapshot> open(const std::string& url) const;
  /// The store of python-blosc2 that is the object at a URL, read in ranges; null for other
  /// objects. Errors as of open().
  std::unique_ptr<frame::PythonStore> find_store(const std::string& url) const;
  /// The same, which has to be a store. Throws Error(malformed), too.
  std::unique_ptr<frame::PythonStore> open_store(const std::string& url) const;
  /// The same of a ZIP file called *.b2z; null for anything else.
  std::unique_ptr<frame::PythonStore> find_zip_store(const std::string& url) const;

 private:
  frame::RemoteSettings settings_;
};

}  // namespace bloscfs::tools
