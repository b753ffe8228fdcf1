#pragma once
// An object store in memory. It keeps conditions, unless it is told to lie, and can behave as one
// of the engines in frame/remote/README.md.

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

struct StoreFaults {
  bool ignores_absent = false, ignores_same = false;  ///< If-None-Match and If-Match of what puts
  bool refuses_same = false;                          ///< also with the current ETag
  bool makes_missing = false;                         ///< If-Match holds where there is nothing
  bool ignores_removal = false;
  bool one_etag = false, forgets_metadata = false, tells_no_etag = false, knows_nothing = false;
  int lost_answers = 0, conflicts = 0;  ///< of so many puts: done without an answer; not done
  int refused_puts = 0;                 ///< of so many: 412, though their condition holds
  int failing_copies = 0;               ///< with status 200
  int chunks_together = 0;  ///< chunks are put once so many are, or nothing comes for a while
  int taken_chunks = 0;     ///< so many find that another host's has their name
  int refused_chunks = 0;   ///< with status 403
  std::chrono::milliseconds index_delay{0};
};

/// How an engine treats a condition of a request that changes an object.
enum class Conditions : std::uint8_t { kept, ignored, refused };

/// The documented behaviour of an engine.
struct StoreTraits {
  std::string name;
  Conditions put_if_absent = Conditions::kept, put_if_same = Conditions::kept;
  Conditions remove_if_same = Conditions::kept;
  bool bare_etags_only = false;  ///< If-Match of a PUT or DELETE never matches in quotes
  bool keeps_conditions_of_reads = false;
  bool makes_missing = false;          ///< If-Match holds where there is no such key
  bool missing_is_404 = false;         ///< If-Match on a key that does not exist gives 404, not 412
  bool absent_removal_is_404 = false;  ///< also of a DELETE without condition
  bool removes_many = true;            ///< POST ?delete
  std::string unknown_request = "501 Not Implemented";
  bool encodes_space_as_plus = false;  ///< in listings
  int conflict_every = 0;              ///< so many conditional PUTs: one gets 409 and is not done
  int busy_every = 0;                  ///< so many changes: one gets `busy` and is not done
  std::string busy = "503 Slow Down", busy_code = "SlowDown";
};

extern const StoreTraits kAws, kAwsUntil2025, kMinio, kMinioUntil2025, kR2, kGcs, kCeph16,
    kCephTentacle, kWithoutMultiDelete;

/// Knows one bucket, "bucket". Its objects have the time of the first second. Signatures are not
/// checked, access keys only if accept_only() was called.
class FakeStore {
 public:
  /// seen() is empty unless `remembers`.
  explicit FakeStore(StoreFaults faults = {}, bool remembers = true);
  explicit FakeStore(StoreTraits traits);

  std::string endpoint() const { return server_.address(""); }
  /// Of the objects below "in/".
  std::shared_ptr<frame::S3Tree> tree(bool writable);
  /// An object below "in/", without a request.
  void add(const std::string& path, const std::vector<std::uint8_t>& bytes);
  void set_faults(const StoreFaults& faults);
  /// Others get `refusal`, a status and a code: "403 Forbidden", "InvalidAccessKeyId".
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
  /// Puts of indexes, of which the last may be under way.
  int indexes_begun() const { return indexes_begun_; }

  /// Called while something is listed; to be set before the first request.
  std::function<void()> when_listing = [] {};

 private:
  struct Object {
    std::string body, etag, metadata;  ///< the last as header lines
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
  std::string accepted_key_;  ///< empty: any
  std::pair<std::string, std::string> refusal_;
  std::atomic<int> refused_{0};
  std::map<std::string, Object> objects_;
  ScriptedServer server_;
};

}  // namespace bloscfs::test
