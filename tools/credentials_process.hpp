#pragma once
// Credentials for a daemon that can read no files and start no programs any more.

#include <memory>
#include <mutex>

#include "frame/remote/s3_credentials.hpp"
#include "fs/sandbox/outside_process.hpp"

namespace bloscfs::tools {

/// A process outside of the sandbox that asks another source, and ends when the daemon does.
class CredentialsProcess final : public frame::CredentialsSource {
 public:
  /// As OutsideProcess. `source` is used in the process alone.
  explicit CredentialsProcess(std::shared_ptr<frame::CredentialsSource> source);

  std::optional<frame::S3Credentials> find(Look look) override;
  bool can_change() const override { return true; }
  void stop() override;

 private:
  std::mutex mutex_;  ///< one question at a time
  fs::OutsideProcess process_;
};

}  // namespace bloscfs::tools
