#include "frame/remote/s3_probe.hpp"

#include <cerrno>
#include <random>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "frame/remote/remote_error.hpp"

namespace bloscfs::frame::inline remote {
namespace {

using Wanted = ObjectCondition::Kind;

constexpr int kTries = 3;
constexpr std::string_view kFirst = "bloscfs probe", kSecond = "bloscfs probe, changed";

Bytes probe_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string random_name() {
  std::random_device random;
  return fmt::format("{}{:08x}{:08x}", kProbeName, random(), random());
}

class Probe {
 public:
  Probe(S3Bucket& bucket, const std::string& prefix)
      : bucket_(bucket),
        key_(prefix + random_name()),
        copy_(key_ + "-copy"),
        missing_(key_ + "-missing") {}

  ~Probe() {
    for (const std::string& key : {key_, copy_, missing_}) {
      try {
        bucket_.remove(key, {});
      } catch (const std::exception&) {
        // What made the probe fail may do so again.
      }
    }
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  void run() {
    const ObjectState first = create();
    const ObjectState second = replace(first);
    check_stale(first);
    check_missing(first);
    check_contents(second);
    learn(first, second);
  }

 private:
  static void must(bool holds, const char* check) {
    if (!holds)
      throw RemoteError(EOPNOTSUPP,
                        fmt::format("the store cannot be written to safely: {}", check));
  }

  /// Nothing where the store refuses it. The answer to a put that was done may have been lost, and
  /// that to its repetition be a refusal: what is there then tells. If it is to be where nothing
  /// is, and nothing is there after a refusal, a put in between came to nothing: it is asked for
  /// again.
  std::optional<ObjectState> put(const std::string& key, std::string_view text,
                                 const ObjectCondition& condition) {
    commit_ = random_name();
    for (int tries = 0; tries < kTries; tries++) {
      auto made = bucket_.put(key, probe_bytes(text), condition, {{"commit", commit_}});
      if (made) return made;
      const auto found = bucket_.state(key);
      if (found) return has_commit(*found) ? found : std::nullopt;
      if (condition.kind != Wanted::absent) break;
    }
    return std::nullopt;
  }

  bool has_commit(const ObjectState& state) const {
    const auto commit = state.metadata.find("commit");
    return commit != state.metadata.end() && commit->second == commit_;
  }

  ObjectState create() {
    const auto made = put(key_, kFirst, {Wanted::absent, {}});
    must(made.has_value(), "If-None-Match: * fails for a key that does not exist");
    must(!put(key_, kSecond, {Wanted::absent, {}}),
         "If-None-Match: * does not fail for a key that exists");
    return *made;
  }

  ObjectState replace(const ObjectState& first) {
    auto changed = put(key_, kSecond, {Wanted::same, first});
    if (!changed) {
      S3Manners manners = bucket_.manners();
      manners.bare_etag = true;
      bucket_.set_manners(manners);
      changed = put(key_, kSecond, {Wanted::same, first});
    }
    stored_commit_ = commit_;
    must(changed.has_value(), "If-Match fails with the current ETag, quoted and bare");
    must(!changed->same_bytes(first) && changed->tag != first.tag,
         "other contents have the same ETag");
    return *changed;
  }

  void check_stale(const ObjectState& first) {
    must(!put(key_, kFirst, {Wanted::same, first}), "If-Match does not fail with a stale ETag");
  }

  void check_missing(const ObjectState& first) {
    must(!put(missing_, kFirst, {Wanted::same, first}),
         "If-Match does not fail for a key that does not exist");
  }

  void check_contents(const ObjectState& second) {
    const auto found = bucket_.state(key_);
    must(found && found->same_bytes(second), "an object has not the ETag that putting it told");
    const auto commit = found->metadata.find("commit");
    must(commit != found->metadata.end() && commit->second == stored_commit_,
         "metadata is not kept with an object");
  }

  /// What there are other ways for.
  void learn(const ObjectState& first, const ObjectState& second) {
    constexpr int kRefused = kHttpConditionFailed;
    S3Manners manners = bucket_.manners();
    manners.copy_if_same = bucket_.status_of_copy(key_, first.tag, copy_, false) == kRefused &&
                           bucket_.status_of_copy(key_, second.tag, copy_, false) == kHttpOk;
    // Onto itself: the key is there in any case.
    manners.copy_if_absent = bucket_.status_of_copy(key_, {}, key_, true) == kRefused;
    const std::string stale =
        manners.bare_etag ? first.tag.substr(1, first.tag.size() - 2) : first.tag;
    manners.remove_if_same = bucket_.status_of_remove(key_, stale) == kRefused;
    bucket_.set_manners(manners);
  }

  S3Bucket& bucket_;
  const std::string key_, copy_, missing_;
  std::string commit_, stored_commit_;  ///< of the last put, and of what is stored
};

}  // namespace

void probe_store(S3Bucket& bucket, const std::string& prefix) { Probe(bucket, prefix).run(); }

}  // namespace bloscfs::frame::inline remote
