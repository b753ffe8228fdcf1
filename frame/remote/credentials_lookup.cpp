#include "frame/remote/credentials_lookup.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <string_view>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "frame/remote/credential_process.hpp"
#include "frame/remote/http_client.hpp"
#include "frame/remote/percent.hpp"
#include "frame/remote/remote_error.hpp"
#include "frame/remote/s3_listing.hpp"
#include "frame/remote/s3_signer.hpp"
#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline remote {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMaxFile = std::size_t{1} << 20;
constexpr std::uint32_t kMaxAnswer = std::uint32_t{64} << 10;
constexpr milliseconds kMetadataTime{1000}, kContainerTime{2000}, kStsTime{10'000},
    kLongestProcess{30'000};
/// Longest chain of profiles that name the next one as their source.
constexpr int kMostProfiles = 8;
/// If a lookup finds the same credentials that a server has refused, programs and servers are not
/// asked again within this time.
constexpr std::chrono::seconds kAfterFailedLookup{5};
/// Seconds: credentials are looked up again so long before they expire, and so long after a lookup
/// has failed.
constexpr std::int64_t kRenewedBefore = 300, kAfterFailure = 10;

/// Sends a request to a server that gives credentials, a second time if it fails. Follows no
/// redirect.
HttpAnswer ask(HttpSettings settings, milliseconds time, WebRequest request) {
  settings.retry_time = milliseconds{0};
  settings.retries_first_contact = false;
  settings.attempt_time = time;
  settings.most_redirects = 0;
  settings.connections = 1;
  settings.netrc.clear();
  settings.bearer.clear();
  request.whole_size = kMaxAnswer;
  request.takes_errors = true;
  HttpClient client(std::move(settings));
  try {
    HttpAnswer answer = client.send(request).wait();
    if (answer.headers.status < 500) return answer;
  } catch (const RemoteError&) {
  }
  return client.send(std::move(request)).wait();
}

WebRequest request_for(const std::string& url, HttpMethod method = HttpMethod::get) {
  WebRequest request;
  request.place.url = parse_url(url);
  request.method = method;
  return request;
}

std::string form_value(std::string_view text) {
  std::string result;
  for (const char c : percent_encoded(text)) result += c == '/' ? "%2F" : std::string(1, c);
  return result;
}

std::string setting(const AwsProfile& profile, const char* name) {
  const auto found = profile.find(name);
  return found == profile.end() ? std::string() : found->second;
}

/// Tokens go over plain HTTP only where AWS's SDKs allow that: to the host itself, and to the
/// addresses of Amazon's containers.
void check_container_url(const Url& url) {
  constexpr std::array<std::string_view, 6> kHosts{
      "127.0.0.1", "::1", "localhost", "169.254.170.2", "169.254.170.23", "fd00:ec2::23"};
  if (!url.secure && std::find(kHosts.begin(), kHosts.end(), url.host) == kHosts.end())
    throw RemoteError(EINVAL, "AWS_CONTAINER_CREDENTIALS_FULL_URI: neither https nor this host");
}

std::optional<S3Credentials> with_origin(std::optional<S3Credentials> found, std::string origin) {
  if (found) found->origin = std::move(origin);
  return found;
}

std::string first_line(const std::vector<std::uint8_t>& body) {
  std::string line(body.begin(), std::find(body.begin(), body.end(), '\n'));
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

}  // namespace

CredentialsLookup::CredentialsLookup(AwsEnvironment environment, HttpSettings http,
                                     std::string region)
    : environment_(std::move(environment)), http_(std::move(http)), region_(std::move(region)) {}

bool CredentialsLookup::FileState::operator==(const FileState& other) const {
  return path == other.path && inode == other.inode && size == other.size &&
         modified.tv_sec == other.modified.tv_sec && modified.tv_nsec == other.modified.tv_nsec;
}

CredentialsLookup::FileState CredentialsLookup::state_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {path};
  return {path, status.st_ino, status.st_size, status.st_mtim};
}

bool CredentialsLookup::has_changed_file() const {
  return std::any_of(files_.begin(), files_.end(),
                     [](const FileState& file) { return !(file == state_of(file.path)); });
}

std::optional<S3Credentials> CredentialsLookup::find(Look look) {
  if (environment_.has_credentials())
    return with_origin(environment_.credentials, "AWS_ACCESS_KEY_ID in the environment");
  const auto now = steady_clock::now();
  if (kept_ && !has_changed_file()) {
    const bool is_due = due_ != 0 && std::time(nullptr) >= due_;
    if (look == Look::if_changed && !is_due) return kept_;
    if (look == Look::again && was_slow_ && now < next_look_) return kept_;
  }
  files_.clear();
  was_slow_ = false;
  // Applies if look_up() throws. kept_ then stays in use until this time.
  due_ = std::time(nullptr) + kAfterFailure;
  auto found = look_up();
  if (look == Look::again && found == kept_) next_look_ = now + kAfterFailedLookup;
  kept_ = std::move(found);
  note_time(kept_);
  return kept_;
}

void CredentialsLookup::note_time(const std::optional<S3Credentials>& found) {
  due_ = 0;
  if (!found || found->expires == 0) return;
  const std::int64_t now = std::time(nullptr), left = found->expires - now;
  due_ = left > 0 ? found->expires - std::min(kRenewedBefore, left / 4) : now + kAfterFailure;
}

std::optional<S3Credentials> CredentialsLookup::look_up() {
  read_profiles();
  const std::string& chosen = environment_.profile;
  const std::string name = chosen.empty() ? "default" : chosen;
  if (!chosen.empty() && profile(chosen) == nullptr)
    throw RemoteError(EACCES, environment_.credentials_file + " has no profile of AWS_PROFILE");
  if (auto found = from_profile(name, 0)) return found;
  if (auto found = from_container()) return found;
  return from_metadata();
}

// --- files

std::optional<std::string> CredentialsLookup::read_file(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const frame::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    const int error = errno;
    files_.push_back({path});
    if (error == ENOENT || error == ENOTDIR) return std::nullopt;
    throw RemoteError(error, path);
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw RemoteError(errno, path);
  files_.push_back({path, status.st_ino, status.st_size, status.st_mtim});
  if (!S_ISREG(status.st_mode) || status.st_size > static_cast<off_t>(kMaxFile))
    throw RemoteError(EINVAL, path + " is not a credentials file");
  std::string text(kMaxFile, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw RemoteError(errno, path);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

/// Returns the token without the line break at its end.
std::string CredentialsLookup::read_token(const std::string& path) {
  std::optional<std::string> text = read_file(path);
  if (!text) throw RemoteError(ENOENT, path);
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  const bool is_token =
      !text->empty() && text->size() <= kMaxSessionToken &&
      std::all_of(text->begin(), text->end(), [](char c) { return c >= ' ' && c < 0x7F; });
  if (!is_token) throw RemoteError(EINVAL, path + " does not hold a token");
  return *text;
}

void CredentialsLookup::read_profiles() {
  profiles_.clear();
  if (const auto text = read_file(environment_.credentials_file))
    add_profiles(profiles_, *text, ProfileFile::credentials);
  in_credentials_file_.clear();
  for (const auto& [name, settings] : profiles_)
    if (settings.contains("aws_access_key_id")) in_credentials_file_.insert(name);
  if (const auto text = read_file(environment_.config_file))
    add_profiles(profiles_, *text, ProfileFile::config);
}

const AwsProfile* CredentialsLookup::profile(const std::string& name) const {
  const auto found = profiles_.find(name);
  return found == profiles_.end() ? nullptr : &found->second;
}

/// `depth`: how many profiles have led here. A profile that is its own source uses its own keys for
/// its role.
std::optional<S3Credentials> CredentialsLookup::from_profile(const std::string& name, int depth) {
  static const AwsProfile kNothing;
  if (depth > kMostProfiles)
    throw RemoteError(EINVAL, "source_profile: profiles refer to each other");
  const AwsProfile* const found = profile(name);
  if (found == nullptr && depth > 0)
    throw RemoteError(EACCES, "source_profile: the profile does not exist");
  const AwsProfile& own = found != nullptr ? *found : kNothing;
  const std::string role = setting(own, "role_arn"), source = setting(own, "source_profile");
  const std::string token_file = setting(own, "web_identity_token_file");
  if (!role.empty() && !source.empty()) {
    const auto as = source == name ? keys_of(name, own) : from_profile(source, depth + 1);
    if (!as) throw RemoteError(EACCES, "source_profile: the profile has no credentials");
    return assume_role(own, *as);
  }
  if (depth == 0 && !environment_.role_arn.empty() && !environment_.web_identity_token_file.empty())
    return assume_role_with_token(environment_.role_arn, environment_.web_identity_token_file,
                                  environment_.role_session_name);
  if (role.empty()) return keys_of(name, own);
  if (token_file.empty())
    throw RemoteError(EINVAL, "role_arn needs source_profile or web_identity_token_file");
  return assume_role_with_token(role, token_file, setting(own, "role_session_name"));
}

std::optional<S3Credentials> CredentialsLookup::keys_of(const std::string& name,
                                                        const AwsProfile& profile) {
  S3Credentials keys{setting(profile, "aws_access_key_id"),
                     setting(profile, "aws_secret_access_key"),
                     setting(profile, "aws_session_token")};
  if (!keys.access_key.empty() && !keys.secret_key.empty()) {
    const std::string& file = in_credentials_file_.contains(name) ? environment_.credentials_file
                                                                  : environment_.config_file;
    return with_origin(checked(std::move(keys)), "profile " + name + " in " + file);
  }
  const std::string command = setting(profile, "credential_process");
  if (command.empty()) return std::nullopt;
  was_slow_ = true;
  // A retry_time of 0 still lets a request take the time of one attempt.
  const milliseconds time =
      http_.retry_time.count() > 0 ? std::min(http_.retry_time, kLongestProcess) : kLongestProcess;
  if (auto printed = parse_json_credentials(run_credential_process(command, time, stopped_)))
    return with_origin(std::move(printed), "credential_process of profile " + name);
  throw RemoteError(EACCES, "the profile's credential_process prints no credentials");
}

// --- the Security Token Service

S3Credentials CredentialsLookup::assume_role(const AwsProfile& profile, const S3Credentials& as) {
  const std::string session = setting(profile, "role_session_name");
  std::string form = "&RoleArn=" + form_value(setting(profile, "role_arn")) +
                     "&RoleSessionName=" + form_value(session.empty() ? "bloscfs" : session);
  if (const std::string id = setting(profile, "external_id"); !id.empty())
    form += "&ExternalId=" + form_value(id);
  if (const std::string time = setting(profile, "duration_seconds"); !time.empty())
    form += "&DurationSeconds=" + form_value(time);
  return ask_sts("Action=AssumeRole" + form, as);
}

S3Credentials CredentialsLookup::assume_role_with_token(const std::string& role,
                                                        const std::string& token_file,
                                                        const std::string& session) {
  return ask_sts("Action=AssumeRoleWithWebIdentity&RoleArn=" + form_value(role) +
                     "&RoleSessionName=" + form_value(session.empty() ? "bloscfs" : session) +
                     "&WebIdentityToken=" + form_value(read_token(token_file)),
                 std::nullopt);
}

S3Credentials CredentialsLookup::ask_sts(const std::string& form,
                                         const std::optional<S3Credentials>& as) {
  was_slow_ = true;
  const std::string& chosen = environment_.profile;
  const AwsProfile* const own = profile(chosen.empty() ? "default" : chosen);
  std::string region = own != nullptr ? setting(*own, "region") : std::string();
  region = find_region(region.empty() ? region_ : region);
  const std::string& endpoint = environment_.sts_endpoint;
  WebRequest request = request_for(
      endpoint.empty() ? "https://sts." + region + ".amazonaws.com/" : endpoint, HttpMethod::post);
  const std::string body = form + "&Version=2011-06-15";
  request.body.assign(body.begin(), body.end());
  request.headers.push_back({"Content-Type", "application/x-www-form-urlencoded"});
  HttpSettings settings = http_;
  if (as) settings.signer = std::make_shared<S3Signer>(*as, region, nullptr, nullptr, "sts");
  const HttpAnswer answer = ask(std::move(settings), kStsTime, std::move(request));
  if (answer.headers.status != kHttpOk)
    throw RemoteError(EACCES,
                      "the Security Token Service: " +
                          describe_problem(answer.headers.status, answer.body, answer.credentials));
  if (auto found = parse_sts_credentials(answer.body))
    return *with_origin(std::move(found), "the Security Token Service");
  throw RemoteError(EIO, "the Security Token Service answers without credentials");
}

// --- containers and instances

std::optional<S3Credentials> CredentialsLookup::from_container() {
  const std::string& relative = environment_.container_relative_uri;
  const std::string& full = environment_.container_full_uri;
  if (relative.empty() && full.empty()) return std::nullopt;
  was_slow_ = true;
  WebRequest request = request_for(relative.empty() ? full : "http://169.254.170.2" + relative);
  check_container_url(request.place.url);
  const std::string& file = environment_.container_token_file;
  const std::string token = file.empty() ? environment_.container_token : read_token(file);
  if (!token.empty()) request.headers.push_back({"Authorization", token});
  HttpSettings settings = http_;
  if (!request.place.url.secure) settings.proxy.clear();
  const HttpAnswer answer = ask(std::move(settings), kContainerTime, std::move(request));
  if (answer.headers.status == kHttpOk)
    if (auto found = parse_json_credentials(answer.body))
      return with_origin(std::move(found), "the container's server");
  throw RemoteError(EACCES, fmt::format("the container's server gives no credentials (status {})",
                                        answer.headers.status));
}

/// Returns nothing if this host is not an instance, or has no role.
std::optional<S3Credentials> CredentialsLookup::from_metadata() {
  if (environment_.metadata_disabled) return std::nullopt;
  was_slow_ = true;
  std::string base = environment_.metadata_endpoint;
  if (base.empty()) base = "http://169.254.169.254";
  while (base.ends_with('/')) base.pop_back();
  HttpSettings settings = http_;
  settings.proxy.clear();
  const auto asked = [&](WebRequest request) -> std::optional<HttpAnswer> {
    try {
      HttpAnswer answer = ask(settings, kMetadataTime, std::move(request));
      if (answer.headers.status == kHttpOk) return answer;
    } catch (const RemoteError&) {
    }
    return std::nullopt;
  };
  WebRequest for_token = request_for(base + "/latest/api/token", HttpMethod::put);
  for_token.headers.push_back({"X-aws-ec2-metadata-token-ttl-seconds", "21600"});
  const auto token = asked(for_token);
  if (!token) return std::nullopt;
  const std::string secret = first_line(token->body);
  const auto get = [&](const std::string& path) {
    WebRequest request =
        request_for(base + "/latest/meta-data/iam/security-credentials/" + percent_encoded(path));
    request.headers.push_back({"X-aws-ec2-metadata-token", secret});
    return asked(std::move(request));
  };
  const auto roles = get("");
  const std::string role = roles ? first_line(roles->body) : std::string();
  if (role.empty() || role.find('/') != std::string::npos) return std::nullopt;
  const auto answer = get(role);
  return answer ? with_origin(parse_json_credentials(answer->body), "the instance metadata")
                : std::nullopt;
}

}  // namespace bloscfs::frame::inline remote
