#include "frame/remote/s3_tree.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <set>
#include <utility>

#include "frame/remote/remote_error.hpp"
#include "frame/remote/remote_object.hpp"
#include "frame/remote/s3_credentials.hpp"
#include "frame/remote/s3_probe.hpp"
#include "frame/remote/s3_signature.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::frame::inline remote {
namespace {

using Wanted = ObjectCondition::Kind;

constexpr unsigned kKeysAtOnce = 1000;
/// For the first question, before anybody shares memory.
constexpr std::size_t kFirstListing = std::size_t{32} << 20;
/// Of a page: its token, which is remembered.
constexpr std::size_t kPageCost = 64;
constexpr std::size_t kLongestKey = 1024;
/// Of one directory; more are no directory that means well.
constexpr std::size_t kMaxKeys = 10'000'000;
/// Pages without a key, in a row.
constexpr int kMostEmptyPages = 1000;
/// How long an answer to the first question stands for the object.
constexpr std::chrono::seconds kFirstIsGood{10};
constexpr const char* kSparseIndex = "chunks.b2frame";
constexpr const char* kCommit = "commit";
constexpr int kTriesOfRefused = 5;

std::string last_component(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Each name once: as a directory, if it is one too.
void sort_names(std::vector<ObjectEntry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const ObjectEntry& a, const ObjectEntry& b) {
    return std::pair(std::string_view(a.name), !a.is_directory) <
           std::pair(std::string_view(b.name), !b.is_directory);
  });
  const auto same_name = [](const ObjectEntry& a, const ObjectEntry& b) {
    return a.name == b.name;
  };
  entries.erase(std::unique(entries.begin(), entries.end(), same_name), entries.end());
}

/// All pages of a listing, from a server that may have no end of them.
class Listing {
 public:
  Listing(const S3Bucket& bucket, std::string prefix, MemoryCharge& charge)
      : bucket_(bucket), prefix_(std::move(prefix)), charge_(charge) {}

  std::vector<ObjectEntry> read() {
    do {
      Interruption::check();
      add(bucket_.list(prefix_, token_, kKeysAtOnce, charge_));
    } while (!token_.empty());
    sort_names(entries_);
    return std::move(entries_);
  }
  bool has_keys() const { return keys_ > 0; }

 private:
  void add(S3Page page) {
    charge_.take(kPageCost);
    keys_ += page.keys;
    empty_pages_ = page.keys > 0 ? 0 : empty_pages_ + 1;
    std::move(page.entries.begin(), page.entries.end(), std::back_inserter(entries_));
    token_ = std::move(page.next);
    if (token_.empty()) return;
    if (!tokens_.insert(std::hash<std::string>()(token_)).second || empty_pages_ > kMostEmptyPages)
      throw RemoteError(EIO, "a listing that goes in circles");
    if (keys_ > kMaxKeys) throw RemoteError(EFBIG, "a listing of too many keys");
  }

  const S3Bucket& bucket_;
  const std::string prefix_;
  std::string token_;
  MemoryCharge& charge_;
  std::set<std::size_t> tokens_;  ///< their hashes
  std::vector<ObjectEntry> entries_;
  int empty_pages_ = 0;
  std::size_t keys_ = 0;
};

std::shared_ptr<HttpClient> make_client(const RemoteSettings& settings, const std::string& region) {
  HttpSettings http;
  http.connections = settings.connections;
  http.retry_time = settings.retry_time;
  http.cafile = settings.cafile;
  http.notice = settings.notice;
  std::optional<S3Credentials> credentials;
  if (!settings.anonymous) {
    credentials = settings.credentials ? settings.credentials : find_credentials();
    if (!credentials)
      throw RemoteError(EACCES,
                        "no credentials: neither AWS_ACCESS_KEY_ID nor a credentials file has "
                        "them; say anonymous to do without");
    http.signer = std::make_shared<S3Signer>(std::move(*credentials), region);
  }
  return std::make_shared<HttpClient>(std::move(http));
}

}  // namespace

std::shared_ptr<ObjectTree> open_s3(const std::string& source, const RemoteSettings& settings) {
  const S3Source parsed = parse_s3(source);
  const std::string region = find_region(settings.region);
  S3Address address(parsed.bucket, settings.endpoint, region, settings.virtual_host);
  auto bucket = std::make_unique<S3Bucket>(std::move(address), make_client(settings, region),
                                           settings.retry_time);
  return std::make_shared<S3Tree>(std::move(bucket), parsed.prefix, settings.writable,
                                  open_disk_cache(settings), traffic_of(settings));
}

S3Tree::S3Tree(std::unique_ptr<S3Bucket> bucket, const std::string& prefix, bool writable,
               std::shared_ptr<DiskCache> cache, std::shared_ptr<Traffic> traffic)
    : bucket_(std::move(bucket)),
      cache_(std::move(cache)),
      traffic_(std::move(traffic)),
      writable_(writable) {
  find_root(prefix);
  if (writable_) probe_store(*bucket_, root_);
}

void S3Tree::find_root(const std::string& prefix) {
  if (!prefix.empty() && !prefix.ends_with('/')) {
    const std::string name = last_component(prefix);
    root_ = prefix.substr(0, prefix.size() - name.size());
    if (try_single(name) || try_single(name + "/" + kSparseIndex)) {
      single_ = name;
      return;
    }
    root_ = prefix + "/";
  } else {
    root_ = prefix;
  }
  // Whether there is a bucket at all, and one that may be read.
  LimitedCharge charge(kFirstListing);
  bucket_->list(root_, {}, 1, charge);
}

/// Keeps what it finds: mounting asks for it next.
bool S3Tree::try_single(const std::string& path) {
  try {
    first_ = {path, open(path, nullptr), std::chrono::steady_clock::now()};
    return true;
  } catch (const RemoteError& error) {
    if (error.code() == std::errc(ENOENT)) return false;
    throw;
  }
}

std::string S3Tree::url(const std::string& path) const {
  return bucket_->address().shown(root_ + path);
}

std::string S3Tree::key_of(const std::string& path) const {
  if (root_.size() + path.size() > kLongestKey) throw_errno(ENAMETOOLONG, "the key");
  return root_ + path;
}

std::vector<ObjectEntry> S3Tree::list(const std::string& directory, MemoryCharge& charge) {
  const std::string prefix = directory.empty() ? root_ : key_of(directory) + "/";
  Listing listing(*bucket_, prefix, charge);
  std::vector<ObjectEntry> entries = listing.read();
  if (!listing.has_keys() && !directory.empty()) throw RemoteError(ENOENT, "no key begins so");
  return entries;
}

std::shared_ptr<const ObjectSource> S3Tree::take_first(const std::string& path) {
  const std::lock_guard guard(mutex_);
  if (!first_ || first_->path != path) return nullptr;
  const Opened opened = *std::exchange(first_, std::nullopt);
  return std::chrono::steady_clock::now() - opened.when < kFirstIsGood ? opened.source : nullptr;
}

std::shared_ptr<const ObjectSource> S3Tree::open(const std::string& path,
                                                 const std::shared_ptr<const ObjectSource>& known) {
  if (auto first = take_first(path)) return first;
  HttpPlace place;
  place.url = bucket_->address().object(key_of(path));
  return RemoteObject::open(bucket_->client(), std::move(place),
                            std::dynamic_pointer_cast<const RemoteObject>(known), traffic_, cache_);
}

std::shared_ptr<ObjectOpening> S3Tree::begin(const std::string& path,
                                             std::span<const ByteRange> ranges, const void* group) {
  HttpPlace place;
  place.url = bucket_->address().object(key_of(path));
  return std::make_shared<RemoteOpening>(bucket_->client(), std::move(place), traffic_, cache_,
                                         ranges, group);
}

void S3Tree::must_be_writable(const std::string& path) const {
  if (!writable_) throw_errno(EROFS, path);
}

ObjectState S3Tree::put(const std::string& path, Bytes bytes, const ObjectCondition& condition,
                        const std::map<std::string, std::string>& metadata) {
  must_be_writable(path);
  const std::string key = key_of(path);
  const auto commit = metadata.find(kCommit);
  // Gateways refuse what would hold. Whoever took that for another host's commit would leave half
  // of a rename that nobody can tell from the whole.
  for (int tries = 0; tries < kTriesOfRefused; tries++) {
    if (const auto made = bucket_->put(key, bytes, condition, metadata)) return *made;
    const auto found = bucket_->state(key);
    if (found && commit != metadata.end() && found->size == bytes.size()) {
      const auto theirs = found->metadata.find(kCommit);
      if (theirs != found->metadata.end() && theirs->second == commit->second) return *found;
    }
    if (!holds(found, condition)) break;
  }
  throw RemoteError(ESTALE, "another one has changed the object");
}

bool S3Tree::holds(const std::optional<ObjectState>& found, const ObjectCondition& condition) {
  if (condition.kind == Wanted::none) return true;
  if (condition.kind == Wanted::absent) return !found;
  return found && found->same_bytes(condition.state);
}

void S3Tree::remove(const std::string& path, const ObjectCondition& condition) {
  must_be_writable(path);
  const std::string key = key_of(path);
  const bool can_ask = condition.kind == Wanted::same && bucket_->manners().remove_if_same;
  if (!can_ask && condition.kind != Wanted::none && !holds(bucket_->state(key), condition))
    throw RemoteError(ESTALE, "another one has changed the object");
  if (!bucket_->remove(key, can_ask ? condition : ObjectCondition{}))
    throw RemoteError(ESTALE, "another one has changed the object");
}

void S3Tree::copy(const std::string& from, const ObjectState& state, const std::string& to) {
  must_be_writable(to);
  const std::string source = key_of(from), target = key_of(to);
  if (!bucket_->manners().copy_if_absent) {
    if (const auto there = bucket_->state(target)) {
      if (there->same_bytes(state)) return;
      throw RemoteError(EEXIST, "an object has that name");
    }
  }
  std::string etag;
  if (bucket_->copy(source, state, target, etag) == S3Bucket::Copied::refused) {
    const auto there = bucket_->state(target);
    if (there && there->same_bytes(state)) return;
    if (!holds(bucket_->state(source), {Wanted::same, state}))
      throw RemoteError(ESTALE, "another one has changed the object");
    throw RemoteError(EEXIST, "an object has that name");
  }
  // A store that was asked may tag copies anew; one that was not has copied what was there.
  if (bucket_->manners().copy_if_same || etag == state.tag) return;
  bucket_->remove(target, {});
  throw RemoteError(ESTALE, "another one has changed the object");
}

}  // namespace bloscfs::frame::inline remote
