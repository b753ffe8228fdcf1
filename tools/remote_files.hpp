#pragma once
// URLs in the place of files.

#include <memory>
#include <mutex>
#include <string>

#include "frame/container/snapshot.hpp"
#include "frame/remote/http_client.hpp"
#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// Opens what URLs name, all with one client, which is made when it is first needed. Thread-safe.
class RemoteFiles {
 public:
  explicit RemoteFiles(const RemoteOptions& options) : options_(options) {}

  /// The frame or Bloscpack file at a URL; null for other bytes. Throws Error,
  /// frame::RemoteError, frame::UrlError.
  std::shared_ptr<const frame::Snapshot> open(const std::string& url);

 private:
  std::shared_ptr<frame::HttpClient> client();

  const RemoteOptions options_;
  std::mutex mutex_;
  std::shared_ptr<frame::HttpClient> client_;
};

/// Reading all of it here and there would be many requests.
bool is_far(const frame::Snapshot& snapshot);

}  // namespace bloscfs::tools
