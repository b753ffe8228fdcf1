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
#include "frame/remote/s3_signer.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::frame::inline remote {
namespace {

using Wanted = ObjectCondition::Kind;

constexpr unsigned kKeysAtOnce = 1000;
/// Memory for the first listing, which comes before the memory budget of all listings exists.
constexpr std::size_t kFirstListing = std::size_t{32} << 20;
/// Memory that a page takes for its token, which is remembered.
constexpr std::size_t kPageCost = 64;
constexpr std::size_t kLongestKey = 1024;
/// Most keys of one directory. No well-meant directory has more.
constexpr std::size_t kMaxKeys = 10'000'000;
/// Most keys for each name in a flat page. More of them indicate a few large frames or deep
/// directories. The listing then continues with a delimiter, because that needs fewer pages.
constexpr std::size_t kMostKeysEach = 4;
/// Most directories that are remembered as not flat.
constexpr std::size_t kMostDeep = 10'000;
/// Most pages in a row without a key.
constexpr int kMostEmptyPages = 1000;
/// How long the single object's first answer stays valid.
constexpr std::chrono::seconds kFirstIsGood{10};
/// How long the first page of the root stays valid.
constexpr std::chrono::seconds kFirstPageIsGood{1};
constexpr const char* kCommit = "commit";
constexpr int kTriesOfRefused = 5;

std::string last_component(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Sorts by name and removes duplicates. A name that is also a directory stays as a directory.
void sort_names(std::vector<ObjectEntry>& entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const ObjectEntry& a, const ObjectEntry& b) {
    return std::pair(std::string_view(a.name), !a.is_directory) <
           std::pair(std::string_view(b.name), !b.is_directory);
  });
  const auto same_name = [](const ObjectEntry& a, const ObjectEntry& b) {
    return a.name == b.name;
  };
  entries.erase(std::unique(entries.begin(), entries.end(), same_name), entries.end());
}

/// Reads all pages of a listing. Pages are flat (without a delimiter) as long as that pays. A flat
/// page shows the states of sparse frames' indexes, which saves a request for each. It also shows
/// which names are left over from removed frames. A hostile server may send any number of pages.
class Listing {
 public:
  Listing(const S3Bucket& bucket, std::string prefix, bool is_flat, MemoryCharge& charge)
      : bucket_(bucket),
        wanted_{std::move(prefix), {}, {}, is_flat, kKeysAtOnce},
        charge_(charge) {}

  /// Starts with a first page that was fetched before.
  void begin_with(S3Page page) {
    for (const ObjectEntry& entry : page.entries) charge_.take(cost_of(entry));
    add(std::move(page));
    is_over_ = !has_more();
  }

  std::vector<ObjectEntry> read() {
    for (; !is_over_; is_over_ = !has_more()) {
      Interruption::check();
      add(bucket_.list(wanted_, charge_));
    }
    sort_names(entries_);
    return std::move(entries_);
  }
  bool has_keys() const { return keys_ > 0; }
  bool is_flat() const { return wanted_.is_flat; }

 private:
  bool has_more() const { return !wanted_.token.empty() || !wanted_.start_after.empty(); }

  void add(S3Page page) {
    charge_.take(kPageCost);
    // Keys ascend. Without this check, a store that repeats a page under new tokens is asked
    // without end.
    if (page.keys > 0 && page.last_key <= last_key_)
      throw RemoteError(EIO, "the S3 listing does not advance");
    if (page.keys > 0) last_key_ = std::move(page.last_key);
    keys_ += page.keys;
    empty_pages_ = page.keys > 0 ? 0 : empty_pages_ + 1;
    const std::size_t names = page.entries.size();
    auto first = page.entries.begin();
    if (names > 0 && !entries_.empty() && first->is_directory && entries_.back().is_directory &&
        first->name == entries_.back().name)
      merge_directory(entries_.back(), *first++);
    std::move(first, page.entries.end(), std::back_inserter(entries_));
    wanted_.start_after.clear();
    wanted_.token = std::move(page.next);
    if (wanted_.token.empty()) return;
    if (!tokens_.insert(std::hash<std::string>()(wanted_.token)).second ||
        empty_pages_ > kMostEmptyPages)
      throw RemoteError(EIO, "the S3 listing does not end");
    if (keys_ > kMaxKeys) throw RemoteError(EFBIG, "the S3 listing has too many keys");
    if (wanted_.is_flat && page.keys > kMostKeysEach * names && !entries_.empty())
      continue_with_delimiter();
  }

  /// Continues after the last name, with a delimiter.
  void continue_with_delimiter() {
    wanted_.is_flat = false;
    wanted_.token.clear();
    // The prefix of the last directory may come again, and is less than the keys in it.
    last_key_.clear();
    wanted_.start_after = wanted_.prefix + entries_.back().name;
    if (!entries_.back().is_directory) return;
    wanted_.start_after += '/';
    entries_.back().lists_all_keys = false;
    entries_.back().state.reset();
  }

  const S3Bucket& bucket_;
  S3Bucket::Wanted wanted_;
  MemoryCharge& charge_;
  std::set<std::size_t> tokens_;  ///< hashes of the tokens of earlier pages
  std::string last_key_;          ///< greatest key of the pages so far
  std::vector<ObjectEntry> entries_;
  int empty_pages_ = 0;
  std::size_t keys_ = 0;
  bool is_over_ = false;
};

std::shared_ptr<HttpClient> make_client(const RemoteSettings& settings, const std::string& region) {
  HttpSettings http = http_settings(settings);
  http.netrc.clear();
  http.bearer.clear();
  if (!settings.anonymous) {
    auto source = settings.credentials ? settings.credentials : credentials_lookup(settings);
    S3Credentials first = require_credentials(*source);
    if (!source->can_change()) source.reset();
    http.signer =
        std::make_shared<S3Signer>(std::move(first), region, std::move(source), settings.notice);
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
                                  settings.may_be_empty, open_disk_cache(settings),
                                  traffic_of(settings));
}

S3Tree::S3Tree(std::unique_ptr<S3Bucket> bucket, const std::string& prefix, bool writable,
               bool may_be_empty, std::shared_ptr<DiskCache> cache,
               std::shared_ptr<Traffic> traffic)
    : bucket_(std::move(bucket)),
      cache_(std::move(cache)),
      traffic_(std::move(traffic)),
      writable_(writable) {
  find_root(prefix, may_be_empty);
  if (writable_) probe_store(*bucket_, root_);
}

/// Finds out what the prefix stands for. Keeps the answers, because the mount asks for them next.
void S3Tree::find_root(const std::string& prefix, bool may_be_empty) {
  const bool is_directory = prefix.empty() || prefix.ends_with('/');
  root_ = is_directory ? prefix : prefix + "/";
  LimitedCharge charge(kFirstListing);
  S3Page page = bucket_->list({root_, {}, {}, true, kKeysAtOnce}, charge);
  const bool is_there = page.keys > 0;
  const auto is_of_frame = [](const ObjectEntry& entry) {
    return !entry.is_directory && (entry.name == kSframeIndexName || chunk_file_number(entry.name));
  };
  // Chunks sort before their index, so a page of chunks only may belong to a frame.
  const bool may_be_frame =
      is_there && std::all_of(page.entries.begin(), page.entries.end(), is_of_frame);
  first_page_ = {std::move(page), std::chrono::steady_clock::now()};
  // An empty bucket can be opened for reading, because it exists without keys.
  const auto require_there = [&] {
    if (is_there || may_be_empty || (prefix.empty() && !writable_)) return;
    throw RemoteError(ENOENT, writable_ ? "no object has this prefix; check the URL, or mount with "
                                          "-o create to start an empty one"
                                        : "no object has this prefix; check the URL");
  };
  if (is_directory || (is_there && !may_be_frame)) return require_there();
  const std::string name = last_component(prefix);
  root_ = prefix.substr(0, prefix.size() - name.size());
  const std::string path = is_there ? name + "/" + kSframeIndexName : name;
  try {
    first_ = {path, open(path, nullptr), std::chrono::steady_clock::now()};
    first_page_.reset();
    single_ = name;
  } catch (const RemoteError& error) {
    if (error.code() != std::errc(ENOENT)) throw;
    require_there();
    root_ = prefix + "/";
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
  const std::size_t hash = std::hash<std::string>()(directory);
  const bool begins_flat = [&] {
    const std::lock_guard guard(mutex_);
    return !deep_.contains(hash);
  }();
  Listing listing(*bucket_, prefix, begins_flat, charge);
  if (directory.empty()) {
    if (auto page = take_first_page()) listing.begin_with(std::move(*page));
  }
  std::vector<ObjectEntry> entries = listing.read();
  if (begins_flat && !listing.is_flat()) {
    const std::lock_guard guard(mutex_);
    if (deep_.size() >= kMostDeep) deep_.clear();
    deep_.insert(hash);
  }
  if (!listing.has_keys() && !directory.empty())
    throw RemoteError(ENOENT, "no object has this prefix");
  return entries;
}

std::optional<S3Page> S3Tree::take_first_page() {
  const std::lock_guard guard(mutex_);
  auto first = std::exchange(first_page_, std::nullopt);
  const bool is_good = first && std::chrono::steady_clock::now() - first->when < kFirstPageIsGood;
  return is_good ? std::optional(std::move(first->page)) : std::nullopt;
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

void S3Tree::begin_change(const std::string& path) {
  if (!writable_) throw_errno(EROFS, path);
  const std::lock_guard guard(mutex_);
  first_page_.reset();
}

ObjectState S3Tree::put(const std::string& path, Bytes bytes, const ObjectCondition& condition,
                        const std::map<std::string, std::string>& metadata) {
  begin_change(path);
  const std::string key = key_of(path);
  const auto commit = metadata.find(kCommit);
  // Gateways sometimes refuse a PUT although its condition holds. If put() took that for another
  // host's commit, a rename would end half-way, and could not be told from a complete one.
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
  begin_change(path);
  const std::string key = key_of(path);
  const bool can_ask = condition.kind == Wanted::same && bucket_->capabilities().remove_if_same;
  if (!can_ask && condition.kind != Wanted::none && !holds(bucket_->state(key), condition))
    throw RemoteError(ESTALE, "another one has changed the object");
  if (!bucket_->remove(key, can_ask ? condition : ObjectCondition{}))
    throw RemoteError(ESTALE, "another one has changed the object");
}

void S3Tree::remove_once(const std::string& path, const ObjectState& state) {
  begin_change(path);
  const ObjectCondition condition = bucket_->capabilities().remove_if_same
                                        ? ObjectCondition{Wanted::same, state}
                                        : ObjectCondition{};
  if (!bucket_->remove(key_of(path), condition, S3Bucket::Sending::once))
    throw RemoteError(ESTALE, "another one has changed the object");
}

void S3Tree::remove_all(std::span<const std::string> paths) {
  std::vector<std::string> keys;
  for (const std::string& path : paths) {
    begin_change(path);
    keys.push_back(key_of(path));
  }
  for (std::size_t done = 0; done < keys.size(); done += S3Bucket::kMostRemoved)
    bucket_->remove_all(std::span(keys).subspan(done));
}

void S3Tree::copy(const std::string& from, const std::string& to) {
  begin_change(to);
  bucket_->copy(key_of(from), key_of(to));
}

}  // namespace bloscfs::frame::inline remote
