#pragma once
// Finds credentials as AWS's SDKs do.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "frame/remote/aws_environment.hpp"
#include "frame/remote/aws_profiles.hpp"
#include "frame/remote/http_request.hpp"
#include "frame/remote/s3_credentials.hpp"

namespace bloscfs::frame::inline remote {

/// Asks these in order: the environment, the profile in the shared files, the container's server,
/// the metadata of the instance. The first that has credentials wins. A source that should have
/// credentials but fails is an error.
///
/// Results are kept until a file that was read changes, or the credentials are about to expire:
/// five minutes before, or when a quarter of their time is left if that is later.
class CredentialsLookup final : public CredentialsSource {
 public:
  /// `http`: for requests to servers that give credentials. `region`: of the Security Token
  /// Service, unless the profile has one.
  CredentialsLookup(AwsEnvironment environment, HttpSettings http, std::string region);

  std::optional<S3Credentials> find(Look look) override;
  bool can_change() const override { return !environment_.has_credentials(); }
  void stop() override { stopped_ = true; }

 private:
  /// A file's state when it was read. All zeros: the file did not exist.
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
  /// Returns a profile's own credentials, without a role: those in the file, or those that a
  /// program prints.
  std::optional<S3Credentials> keys_of(const std::string& name, const AwsProfile& profile);
  S3Credentials assume_role(const AwsProfile& profile, const S3Credentials& as);
  S3Credentials assume_role_with_token(const std::string& role, const std::string& token_file,
                                       const std::string& session);
  S3Credentials ask_sts(const std::string& form, const std::optional<S3Credentials>& as);
  std::optional<S3Credentials> from_container();
  std::optional<S3Credentials> from_metadata();

  const AwsEnvironment environment_;
  const HttpSettings http_;
  const std::string region_;
  std::atomic<bool> stopped_{false};
  AwsProfiles profiles_;
  std::set<std::string> in_credentials_file_;  ///< profiles whose keys that file has
  std::vector<FileState> files_;               ///< read by the last lookup
  /// The last lookup ran a program, or asked the Security Token Service or the container's server.
  bool was_slow_ = false;
  std::optional<S3Credentials> kept_;
  /// Time of the next lookup in seconds since 1970. 0: never.
  std::int64_t due_ = 0;
  /// Set when a lookup has found the same credentials again although a server had refused them.
  /// Programs and servers are not asked before this time.
  std::chrono::steady_clock::time_point next_look_;
};

}  // namespace bloscfs::frame::inline remote
