#include "tests/remote/credentials_server.hpp"

#include <ctime>

#include <fmt/core.h>

namespace bloscfs::test {
namespace {

constexpr const char* kMetadataToken = "token-of-metadata";
constexpr const char* kRoles = "/latest/meta-data/iam/security-credentials/";

}  // namespace

std::string time_from_now(int seconds) {
  const std::time_t when = std::time(nullptr) + seconds;
  std::tm parts{};
  ::gmtime_r(&when, &parts);
  char text[32];
  return {&text[0], std::strftime(&text[0], sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

CredentialsServer::CredentialsServer()
    : server_([this](const HttpRequest& request) { return answer(request); }) {}

void CredentialsServer::give(const std::string& access_key, int lifetime) {
  const std::lock_guard guard(mutex_);
  access_key_ = access_key;
  lifetime_ = lifetime;
}

void CredentialsServer::set_broken(bool is_broken) {
  const std::lock_guard guard(mutex_);
  is_broken_ = is_broken;
}

std::string CredentialsServer::json(const char* token_name) const {
  return fmt::format(
      R"({{"Code":"Success","AccessKeyId":"{}","SecretAccessKey":"{}","{}":"{}","Expiration":"{}"}})",
      access_key_, secret_of(access_key_), token_name, kSessionToken, time_from_now(lifetime_));
}

HttpReply CredentialsServer::answer(const HttpRequest& request) {
  const std::lock_guard guard(mutex_);
  const auto ok = [](const std::string& body) { return HttpReply{reply_of("200 OK", "", body)}; };
  const auto is_for = [&](const std::string& line) { return request.head.starts_with(line + " "); };
  if (is_broken_) return {reply_of("500 Broken", "", "")};
  if (is_for("PUT /latest/api/token") &&
      !request.value("X-aws-ec2-metadata-token-ttl-seconds").empty())
    return ok(kMetadataToken);
  const bool has_token = request.value("X-aws-ec2-metadata-token") == kMetadataToken;
  if (has_token && is_for(std::string("GET ") + kRoles)) return ok("the-role\n");
  if (has_token && is_for(std::string("GET ") + kRoles + "the-role")) return ok(json("Token"));
  if (is_for(std::string("GET ") + kContainerPath) &&
      request.value("Authorization") == kContainerToken)
    return ok(json("Token"));
  const bool is_role =
      request.body.starts_with("Action=AssumeRole&") &&
      request.value("Authorization").find("/sts/aws4_request") != std::string::npos;
  const bool is_web = request.body.starts_with("Action=AssumeRoleWithWebIdentity&") &&
                      request.body.find("WebIdentityToken=web-token") != std::string::npos;
  const std::string name = is_role ? "AssumeRole" : "AssumeRoleWithWebIdentity";
  if (is_for("POST /") && (is_role || is_web))
    return ok(fmt::format(
        "<{0}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><{0}Result><Credentials>"
        "<AccessKeyId>{1}</AccessKeyId><SecretAccessKey>{2}</SecretAccessKey>"
        "<SessionToken>{3}</SessionToken><Expiration>{4}</Expiration></Credentials></{0}Result>"
        "</{0}Response>",
        name, access_key_, secret_of(access_key_), kSessionToken, time_from_now(lifetime_)));
  return {reply_of("403 Forbidden", "",
                   "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>")};
}

}  // namespace bloscfs::test
