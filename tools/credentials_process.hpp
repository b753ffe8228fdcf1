#pragma once
// Looks up credentials for a sandboxed daemon, which cannot read files or start programs.

#include <memory>
#include <mutex>

#include "frame/remote/s3_credentials.hpp"
#include "fs/sandbox/outside_process.hpp"

namespace bloscfs::tools {

/// Gets credentials from a process outside the sandbox, which asks another source. That process
/// ends when the daemon ends.
class CredentialsProcess final : public frame::CredentialsSource {
 public:
  /// Forks, with the demands of OutsideProcess. Only the new process uses `source`.
  explicit CredentialsProcess(std::shared_ptr<frame::CredentialsSource> source);

  std::optional<frame::S3Credentials> find(Look look) override;
  bool can_change() const override { return true; }
  void stop() override;

 private:
  std::mutex mutex_;  ///< held for one request and its answer
  fs::OutsideProcess process_;
};

}  // namespace bloscfs::tools
