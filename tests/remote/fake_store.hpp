#pragma once
// An object store in memory. It keeps the conditions of requests, unless a test makes it lie. It
// can also behave as one of the engines in frame/remote/README.md.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "frame/remote/s3_tree.hpp"
#include "tests/remote/scripted_server.hpp"

namespace bloscfs::test {

/// What the store does wrong. A number says how many of the next requests are affected.
struct StoreFaults {
  bool ignores_absent = false, ignores_same = false;  ///< If-None-Match and If-Match of a PUT
  bool refuses_same = false;                          ///< If-Match fails also with the current ETag
  bool makes_missing = false;                         ///< If-Match holds for a missing object
  bool ignores_removal = false;                       ///< ignores If-Match of a DELETE
  bool one_etag = false, forgets_metadata = false, tells_no_etag = false, knows_nothing = false;
  /// PUTs that are done but not answered; PUTs that get 409 and are not done.
  int lost_answers = 0, conflicts = 0;
  int refused_puts = 0;    ///< conditional PUTs that get 412, though their condition holds
  int failing_copies = 0;  ///< copies that fail with status 200 and an error in the body
  /// A PUT of a chunk waits until so many have been under way at once, or for 2 s.
  int chunks_together = 0;
  int taken_chunks = 0;    ///< PUTs of chunks that find another host's chunk under their name
  int refused_chunks = 0;  ///< PUTs of chunks that get 403
  std::chrono::milliseconds index_delay{0};
};

/// How an engine treats a condition in a request that changes an object.
enum class Conditions : std::uint8_t { kept, ignored, refused };

/// The documented behaviour of an engine.
struct StoreTraits {
  std::string name;
  Conditions put_if_absent = Conditions::kept, put_if_same = Conditions::kept;
  Conditions remove_if_same = Conditions::kept;
  bool bare_etags_only = false;  ///< If-Match of a PUT or DELETE never matches in quotes
  bool keeps_conditions_of_reads = false;
  bool makes_missing = false;          ///< If-Match holds for a key that does not exist
  bool missing_is_404 = false;         ///< If-Match on a key that does not exist gives 404, not 412
  bool absent_removal_is_404 = false;  ///< for a DELETE without condition
  bool removes_many = true;            ///< supports POST ?delete
  std::string unknown_request = "501 Not Implemented";
  bool encodes_space_as_plus = false;  ///< in listings
  int conflict_every = 0;              ///< every Nth conditional PUT gets 409 and is not done
  int busy_every = 0;                  ///< every Nth change gets `busy` and is not done
  std::string busy = "503 Slow Down", busy_code = "SlowDown";
};

extern const StoreTraits kAws, kAwsUntil2025, kMinio, kMinioUntil2025, kR2, kGcs, kCeph16,
    kCephTentacle, kWithoutMultiDelete;

/// A store with one bucket, "bucket". The modification time of all its objects is second 1 of 1970.
/// It checks no signatures, and access keys only after accept_only(). Thread-safe.
class FakeStore {
 public:
  /// If `remembers` is false, seen() stays empty.
  explicit FakeStore(StoreFaults faults = {}, bool remembers = true);
  explicit FakeStore(StoreTraits traits);

  std::string endpoint() const { return server_.address(""); }
  /// Returns the tree of the objects below "in/".
  std::shared_ptr<frame::S3Tree> tree(bool writable);
  /// Adds an object below "in/", without a request.
  void add(const std::string& path, const std::vector<std::uint8_t>& bytes);
  void set_faults(const StoreFaults& faults);
  /// Accepts only requests with `access_key`. Answers others with `refusal`, a status and a code.
  void accept_only(const std::string& access_key,
                   const std::pair<std::string, std::string>& refusal = {"403 Forbidden",
                                                                         "InvalidAccessKeyId"});
  int refused() const { return refused_; }
  std::size_t objects() const;
  std::size_t objects_of_others() const;
  int most_chunks_together() const;
  bool put_chunk_behind_index() const;
  int requests() const { return server_.requests(); }
  std::vector<HttpRequest> seen() const { return server_.seen(); }
  /// Returns the number of PUTs of indexes. The last one may still be under way.
  int indexes_begun() const { return indexes_begun_; }

  /// Called in each request for a listing. Must be set before the first request.
  std::function<void()> when_listing = [] {};

 private:
  struct Object {
    std::string body, etag, metadata;  ///< metadata is a text of header lines
  };

  HttpReply answer(const HttpRequest& request);
  HttpReply answer_put(const HttpRequest& request, const std::string& key);
  std::string put(const HttpRequest& request, const std::string& key);
  std::string refusal_in_between(const HttpRequest& request, bool is_change);
  void wait_for_others();
  std::string copy(const HttpRequest& request, const std::string& key);
  std::string get(const HttpRequest& request, const std::string& key) const;
  std::string remove(const HttpRequest& request, const std::string& key);
  std::string list(const std::string& query) const;
  std::string remove_all(const HttpRequest& request);
  std::string refusal(const HttpRequest& request, const std::string& key) const;
  std::string refusal_of_removal(const HttpRequest& request, const std::string& key) const;
  std::string refusal_of_same(const std::string& wanted, const std::string& key) const;
  std::string etag_of(const std::string& body) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int chunks_together_ = 0, most_chunks_together_ = 0;
  std::atomic<int> indexes_begun_{0};
  bool has_index_ = false, chunk_behind_index_ = false;
  StoreFaults faults_;
  const StoreTraits traits_;
  int changes_ = 0, conditional_puts_ = 0;
  std::string accepted_key_;  ///< empty: accepts all keys
  std::pair<std::string, std::string> refusal_;
  std::atomic<int> refused_{0};
  std::map<std::string, Object> objects_;
  ScriptedServer server_;
};

}  // namespace bloscfs::test
