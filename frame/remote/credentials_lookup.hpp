#pragma once
// Finds credentials as AWS's SDKs do.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "frame/remote/aws_environment.hpp"
#include "frame/remote/aws_profiles.hpp"
#include "frame/remote/http_request.hpp"
#include "frame/remote/s3_credentials.hpp"

namespace bloscfs::frame::inline remote {

/// In this order: the environment, the profile of the shared files, the container's server, the
/// metadata of the instance. The first that has credentials wins. One that should have some and
/// fails is an error.
///
/// Results are kept until a file that was read changes, or a quarter of their time is left, or five
/// minutes.
class CredentialsLookup final : public CredentialsSource {
 public:
  /// `http`: for the Security Token Service, whose region `region` is unless the profile has one.
  CredentialsLookup(AwsEnvironment environment, HttpSettings http, std::string region);

  std::optional<S3Credentials> find(Look look) override;
  bool can_change() const override { return !environment_.has_credentials(); }
  void stop() override { stopped_ = true; }

 private:
  /// A file as it was when it was read; all zeros: it was not there.
  struct FileState {
    std::string path;
    ino_t inode = 0;
    off_t size = 0;
    timespec modified{};
    bool operator==(const FileState& other) const;
  };
  static FileState state_of(const std::string& path);

  std::optional<S3Credentials> look_up();
  bool has_changed_file() const;
  void note_time(const std::optional<S3Credentials>& found);

  std::optional<std::string> read_file(const std::string& path);
  std::string read_token(const std::string& path);
  void read_profiles();
  const AwsProfile* profile(const std::string& name) const;
  std::optional<S3Credentials> from_profile(const std::string& name, int depth);
  /// Without a role: those that stand there, or that a program prints.
  std::optional<S3Credentials> keys_of(const AwsProfile& profile);
  S3Credentials assume_role(const AwsProfile& profile, const S3Credentials& as);
  S3Credentials assume_role_with_token(const std::string& role, const std::string& token_file,
                                       const std::string& session);
  S3Credentials ask_sts(const std::string& form, const std::optional<S3Credentials>& as);
  std::optional<S3Credentials> from_container();
  std::optional<S3Credentials> from_metadata() const;

  const AwsEnvironment environment_;
  const HttpSettings http_;
  const std::string region_;
  std::atomic<bool> stopped_{false};
  AwsProfiles profiles_;
  std::vector<FileState> files_;  ///< that the last lookup read
  bool was_slow_ = false;         ///< it asked others than files
  std::optional<S3Credentials> kept_;
  std::int64_t due_ = 0;                             ///< in seconds since 1970; 0: never
  std::chrono::steady_clock::time_point next_look_;  ///< of others than files, after a vain one
};

}  // namespace bloscfs::frame::inline remote
