#include "frame/remote/s3_probe.hpp"

#include <cerrno>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "frame/remote/remote_error.hpp"

namespace bloscfs::frame::inline remote {
namespace {

using Wanted = ObjectCondition::Kind;

constexpr int kTries = 3;
constexpr std::string_view kFirst = "bloscfs probe", kSecond = "bloscfs probe, changed",
                           kOther = "bloscfs probe, to be refused";

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
      : bucket_(bucket), key_(prefix + random_name()), missing_(key_ + "-missing") {}

  ~Probe() {
    for (const std::string& key : left_) {
      try {
        bucket_.remove(key, {});
      } catch (const std::exception&) {
        // The cause of the probe's failure may persist.
      }
    }
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  void run() {
    const ObjectState first = create();
    const ObjectState second = replace(first);
    must(is_refused(key_, {Wanted::same, first}), "If-Match does not fail with a stale ETag");
    left_.insert(missing_);
    must(is_refused(missing_, {Wanted::same, first}),
         "If-Match does not fail for a key that does not exist");
    left_.erase(missing_);
    check_contents(second);
    learn_removal(first);
  }

 private:
  static void must(bool holds, const char* check) {
    if (!holds)
      throw RemoteError(
          EOPNOTSUPP,
          fmt::format(
              "the store cannot be written to safely: {}; use it read-only, or use another store",
              check));
  }

  /// Stores `text` in the probe's object. Returns nothing if the object store refuses. The answer
  /// to a successful PUT may be lost and its retry refused, so the object in the object store then
  /// decides. If the object was to be absent and is absent after a refusal, a competing PUT must
  /// have failed, and this one is sent again.
  std::optional<ObjectState> put(std::string_view text, const ObjectCondition& condition) {
    commit_ = random_name();
    for (int tries = 0; tries < kTries; tries++) {
      auto made = bucket_.put(key_, probe_bytes(text), condition, {{"commit", commit_}});
      if (made) return made;
      const auto found = bucket_.state(key_);
      if (found) return has_commit(*found) ? found : std::nullopt;
      if (condition.kind != Wanted::absent) break;
    }
    return std::nullopt;
  }

  bool is_refused(const std::string& key, const ObjectCondition& condition) const {
    return !bucket_.put(key, probe_bytes(kOther), condition, {});
  }

  bool has_commit(const ObjectState& state) const {
    const auto commit = state.metadata.find("commit");
    return commit != state.metadata.end() && commit->second == commit_;
  }

  ObjectState create() {
    left_.insert(key_);
    const auto made = put(kFirst, {Wanted::absent, {}});
    must(made.has_value(), "If-None-Match: * fails for a key that does not exist");
    must(is_refused(key_, {Wanted::absent, {}}),
         "If-None-Match: * does not fail for a key that exists");
    return *made;
  }

  ObjectState replace(const ObjectState& first) {
    ObjectState changed = replace_quoted_or_bare(first);
    must(!changed.same_bytes(first) && changed.tag != first.tag,
         "objects with different contents have the same ETag");
    return changed;
  }

  ObjectState replace_quoted_or_bare(ObjectState current) {
    S3Capabilities capabilities = bucket_.capabilities();
    for (int tries = 0; tries < kTries; tries++) {
      commit_ = random_name();
      const std::string text = fmt::format("{} {}", kSecond, tries);
      for (const bool is_bare : {false, true}) {
        capabilities.bare_etag = is_bare;
        bucket_.set_capabilities(capabilities);
        const auto made =
            bucket_.put(key_, probe_bytes(text), {Wanted::same, current}, {{"commit", commit_}});
        if (made) return *made;
      }
      // One of the PUTs may have succeeded although its answer was lost.
      const auto found = bucket_.state(key_);
      if (!found || !has_commit(*found)) break;
      current = *found;
    }
    must(false, "If-Match fails with the current ETag, quoted and bare");
    return current;
  }

  void check_contents(const ObjectState& second) const {
    const auto found = bucket_.state(key_);
    must(found && found->same_bytes(second), "GET returns another ETag than PUT");
    must(has_commit(*found), "the store does not keep the metadata of an object");
  }

  /// Learns whether DELETE honours If-Match. A store that ignores it deletes the object.
  void learn_removal(const ObjectState& stale) {
    S3Capabilities capabilities = bucket_.capabilities();
    capabilities.remove_if_same = true;
    bucket_.set_capabilities(capabilities);
    capabilities.remove_if_same = keeps_condition_of_removal(stale);
    bucket_.set_capabilities(capabilities);
    if (!capabilities.remove_if_same) left_.erase(key_);
  }

  bool keeps_condition_of_removal(const ObjectState& stale) {
    try {
      if (!bucket_.remove(key_, {Wanted::same, stale}, S3Bucket::Sending::once)) return true;
    } catch (const RemoteError& error) {
      if (error.code() != std::errc::operation_not_supported) throw;
      bucket_.remove(key_, {});
    }
    return false;
  }

  S3Bucket& bucket_;
  const std::string key_, missing_;
  std::set<std::string> left_;  ///< keys to remove
  std::string commit_;          ///< of the last PUT that should have succeeded
};

}  // namespace

void probe_store(S3Bucket& bucket, const std::string& prefix) { Probe(bucket, prefix).run(); }

}  // namespace bloscfs::frame::inline remote
