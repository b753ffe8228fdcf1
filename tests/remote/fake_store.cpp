#include "tests/remote/fake_store.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string_view>
#include <thread>

#include <fmt/core.h>
#include <xxhash.h>

#include "frame/remote/percent.hpp"
#include "tests/support/pause.hpp"

namespace bloscfs::test {
namespace {

std::string store_error(const std::string& status, const std::string& code) {
  return reply_of(status, "", "<Error><Code>" + code + "</Code></Error>");
}

const char* const kOthersChunk = "another host's chunk";
const char* const kRefused = "412 Precondition Failed";

std::string not_implemented(const std::string& status) {
  return store_error(status, "NotImplemented");
}

std::string without_percents(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); at++) {
    const bool is_encoded = text[at] == '%';
    plain += is_encoded ? static_cast<char>(std::stoi(std::string(text.substr(at + 1, 2)), {}, 16))
                        : text[at];
    if (is_encoded) at += 2;
  }
  return plain;
}

std::string metadata_in(const std::string& head) {
  std::istringstream lines(head);
  std::string result;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("x-amz-meta-")) result += line + "\n";
  return result;
}

}  // namespace

const StoreTraits kAws{.name = "AWS S3",
                       .keeps_conditions_of_reads = true,
                       .missing_is_404 = true,
                       .encodes_space_as_plus = true,
                       .conflict_every = 3,
                       .busy_every = 5};
const StoreTraits kAwsUntil2025{.name = "AWS S3 until September 2025",
                                .remove_if_same = Conditions::refused,
                                .keeps_conditions_of_reads = true,
                                .missing_is_404 = true,
                                .encodes_space_as_plus = true,
                                .conflict_every = 3,
                                .busy_every = 5};
const StoreTraits kMinio{.name = "MinIO",
                         .remove_if_same = Conditions::ignored,
                         .keeps_conditions_of_reads = true,
                         .missing_is_404 = true,
                         .busy_every = 5};
const StoreTraits kMinioUntil2025{.name = "MinIO until August 2025",
                                  .remove_if_same = Conditions::ignored,
                                  .keeps_conditions_of_reads = true,
                                  .makes_missing = true};
const StoreTraits kR2{.name = "Cloudflare R2",
                      .remove_if_same = Conditions::ignored,
                      .keeps_conditions_of_reads = true,
                      .busy_every = 3,
                      .busy = "429 Too Many Requests",
                      .busy_code = "TooManyRequests"};
const StoreTraits kGcs{.name = "Google Cloud Storage",
                       .put_if_absent = Conditions::ignored,
                       .put_if_same = Conditions::ignored,
                       .remove_if_same = Conditions::ignored,
                       .keeps_conditions_of_reads = true,
                       .absent_removal_is_404 = true,
                       .busy = "429 Too Many Requests"};
const StoreTraits kCeph16{.name = "Ceph RGW 16",
                          .remove_if_same = Conditions::ignored,
                          .bare_etags_only = true,
                          .keeps_conditions_of_reads = true,
                          .busy_every = 5};
const StoreTraits kCephTentacle{
    .name = "Ceph RGW 20", .keeps_conditions_of_reads = true, .busy_every = 5};
const StoreTraits kWithoutMultiDelete{.name = "a store without multi-object delete",
                                      .remove_if_same = Conditions::ignored,
                                      .absent_removal_is_404 = true,
                                      .removes_many = false,
                                      .unknown_request = "400 Bad Request"};

FakeStore::FakeStore(StoreFaults faults, bool remembers)
    : faults_(faults),
      server_([this](const HttpRequest& request) { return answer(request); }, remembers) {}

FakeStore::FakeStore(StoreTraits traits)
    : traits_(std::move(traits)),
      server_([this](const HttpRequest& request) { return answer(request); }) {}

std::shared_ptr<frame::S3Tree> FakeStore::tree(bool writable) {
  frame::HttpSettings settings;
  settings.retry_time = std::chrono::seconds(3);
  auto bucket = std::make_unique<frame::S3Bucket>(
      frame::S3Address("bucket", server_.address(""), "us-east-1", false),
      std::make_shared<frame::HttpClient>(settings), settings.retry_time);
  return std::make_shared<frame::S3Tree>(std::move(bucket), "in/", writable, true);
}

void FakeStore::add(const std::string& path, const std::vector<std::uint8_t>& bytes) {
  const std::lock_guard guard(mutex_);
  const std::string body(bytes.begin(), bytes.end());
  objects_["/bucket/in/" + frame::percent_encoded(path)] = {body, etag_of(body), ""};
}

void FakeStore::set_faults(const StoreFaults& faults) {
  const std::lock_guard guard(mutex_);
  faults_ = faults;
}

void FakeStore::accept_only(const std::string& access_key,
                            const std::pair<std::string, std::string>& refusal) {
  const std::lock_guard guard(mutex_);
  accepted_key_ = access_key;
  refusal_ = refusal;
}

std::size_t FakeStore::objects() const {
  const std::lock_guard guard(mutex_);
  return objects_.size();
}

std::size_t FakeStore::objects_of_others() const {
  const std::lock_guard guard(mutex_);
  return static_cast<std::size_t>(
      std::count_if(objects_.begin(), objects_.end(),
                    [](const auto& each) { return each.second.body == kOthersChunk; }));
}

int FakeStore::most_chunks_together() const {
  const std::lock_guard guard(mutex_);
  return most_chunks_together_;
}

bool FakeStore::put_chunk_behind_index() const {
  const std::lock_guard guard(mutex_);
  return chunk_behind_index_;
}

void FakeStore::wait_for_others() {
  std::unique_lock lock(mutex_);
  most_chunks_together_ = std::max(most_chunks_together_, ++chunks_together_);
  chunk_behind_index_ |= has_index_;
  changed_.notify_all();
  changed_.wait_for(lock, std::chrono::seconds(2),
                    [this] { return most_chunks_together_ >= faults_.chunks_together; });
  lock.unlock();
  simulate_delay(std::chrono::milliseconds(faults_.chunks_together > 0 ? 5 : 0));
  lock.lock();
  chunks_together_--;
}

std::string FakeStore::etag_of(const std::string& body) const {
  const auto hash = faults_.one_etag ? 0 : XXH3_64bits(body.data(), body.size());
  return fmt::format("\"{:016x}\"", hash);
}

HttpReply FakeStore::answer(const HttpRequest& request) {
  std::istringstream line(request.head);
  std::string method, key;
  line >> method >> key;
  if (method == "PUT" && key.ends_with(".chunk")) wait_for_others();
  if (method == "PUT" && key.ends_with("chunks.b2frame")) {
    indexes_begun_++;
    simulate_delay(faults_.index_delay);
  }
  const std::lock_guard guard(mutex_);
  if (!accepted_key_.empty() && access_key_of(request) != accepted_key_) {
    refused_++;
    return {store_error(refusal_.first, refusal_.second), {}, false};
  }
  if (const std::string refused = refusal_in_between(request, method != "GET"); !refused.empty())
    return {refused, {}, false};
  if (method == "POST") return {remove_all(request), {}, false};
  if (const auto query = key.find('?'); query != std::string::npos) {
    when_listing();
    return {list(key.substr(query)), {}, false};
  }
  if (method == "GET") return {get(request, key), {}, false};
  if (method == "DELETE") return {remove(request, key), {}, false};
  if (!request.value("x-amz-copy-source").empty()) return {copy(request, key), {}, false};
  return answer_put(request, key);
}

HttpReply FakeStore::answer_put(const HttpRequest& request, const std::string& key) {
  const bool is_chunk = key.ends_with(".chunk");
  if (is_chunk && faults_.refused_chunks > 0) {
    faults_.refused_chunks--;
    return {store_error("403 Forbidden", "AccessDenied"), {}, false};
  }
  if (is_chunk && faults_.taken_chunks > 0) {
    faults_.taken_chunks--;
    objects_[key] = {kOthersChunk, etag_of(kOthersChunk), ""};
  }
  has_index_ |= key.ends_with("chunks.b2frame");
  if (faults_.conflicts > 0) {
    faults_.conflicts--;
    return {store_error("409 Conflict", "ConditionalRequestConflict"), {}, false};
  }
  const std::string reply = put(request, key);
  if (faults_.lost_answers == 0) return {reply, {}, false};
  faults_.lost_answers--;
  return {"", {}, true};
}

/// Returns the answer to a request that is not done now and that the client may retry. Empty if the
/// request is to be done.
std::string FakeStore::refusal_in_between(const HttpRequest& request, bool is_change) {
  if (!is_change) return {};
  if (traits_.busy_every > 0 && ++changes_ % traits_.busy_every == 0)
    return store_error(traits_.busy, traits_.busy_code);
  const bool is_conditional_put =
      request.head.starts_with("PUT") &&
      (!request.value("If-Match").empty() || !request.value("If-None-Match").empty());
  if (is_conditional_put && traits_.conflict_every > 0 &&
      ++conditional_puts_ % traits_.conflict_every == 0)
    return store_error("409 Conflict", "ConditionalRequestConflict");
  return {};
}

/// Checks the ETag of an If-Match. Returns an empty text if the condition holds.
std::string FakeStore::refusal_of_same(const std::string& wanted, const std::string& key) const {
  const auto found = objects_.find(key);
  if (found == objects_.end()) {
    if (faults_.makes_missing || traits_.makes_missing) return {};
    return traits_.missing_is_404 ? store_error("404 Not Found", "NoSuchKey")
                                  : store_error(kRefused, "PreconditionFailed");
  }
  const std::string& etag = found->second.etag;
  const bool is_same = traits_.bare_etags_only ? "\"" + wanted + "\"" == etag : wanted == etag;
  return is_same || faults_.ignores_same ? "" : store_error(kRefused, "PreconditionFailed");
}

/// Checks the conditions of a PUT. Returns an empty text if they hold.
std::string FakeStore::refusal(const HttpRequest& request, const std::string& key) const {
  const bool wants_absent = request.value("If-None-Match") == "*";
  const std::string same = request.value("If-Match");
  if ((wants_absent && traits_.put_if_absent == Conditions::refused) ||
      (!same.empty() && traits_.put_if_same == Conditions::refused))
    return not_implemented(traits_.unknown_request);
  if (wants_absent && !faults_.ignores_absent && traits_.put_if_absent == Conditions::kept &&
      objects_.contains(key))
    return store_error(kRefused, "PreconditionFailed");
  if (same.empty() || traits_.put_if_same == Conditions::ignored) return {};
  if (faults_.refuses_same) return store_error(kRefused, "PreconditionFailed");
  return refusal_of_same(same, key);
}

/// Checks the conditions of a DELETE. Returns an empty text if they hold.
std::string FakeStore::refusal_of_removal(const HttpRequest& request,
                                          const std::string& key) const {
  const std::string same = request.value("If-Match");
  const bool asks = !same.empty() && !faults_.ignores_removal;
  if (asks && traits_.remove_if_same == Conditions::refused)
    return not_implemented(traits_.unknown_request);
  if (asks && traits_.remove_if_same == Conditions::kept) {
    if (faults_.refuses_same) return store_error(kRefused, "PreconditionFailed");
    return refusal_of_same(same, key);
  }
  if (traits_.absent_removal_is_404 && !objects_.contains(key))
    return store_error("404 Not Found", "NoSuchKey");
  return {};
}

std::string FakeStore::put(const HttpRequest& request, const std::string& key) {
  if (faults_.knows_nothing && !request.value("If-None-Match").empty())
    return store_error("501 Not Implemented", "NotImplemented");
  const bool is_conditional =
      !request.value("If-Match").empty() || !request.value("If-None-Match").empty();
  if (const std::string refused = refusal(request, key); !refused.empty()) return refused;
  if (is_conditional && faults_.refused_puts-- > 0)
    return store_error(kRefused, "PreconditionFailed");
  const std::string metadata = faults_.forgets_metadata ? "" : metadata_in(request.head);
  objects_[key] = {request.body, etag_of(request.body), metadata};
  const std::string etag = faults_.tells_no_etag ? "" : "ETag: " + objects_[key].etag + "\r\n";
  return reply_of("200 OK", etag, "");
}

std::string FakeStore::copy(const HttpRequest& request, const std::string& key) {
  if (faults_.failing_copies > 0) {
    faults_.failing_copies--;
    return store_error("200 OK", "InternalError");
  }
  const auto source = objects_.find(request.value("x-amz-copy-source"));
  if (source == objects_.end()) return store_error("404 Not Found", "NoSuchKey");
  objects_[key] = Object(source->second);
  return reply_of("200 OK", "",
                  "<CopyObjectResult><ETag>" + objects_[key].etag + "</ETag></CopyObjectResult>");
}

std::string FakeStore::get(const HttpRequest& request, const std::string& key) const {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return store_error("404 Not Found", "NoSuchKey");
  const auto& [body, etag, metadata] = found->second;
  std::string headers = "ETag: " + etag + "\r\n" + metadata;
  if (!traits_.name.empty()) headers += "Last-Modified: Thu, 01 Jan 1970 00:00:01 GMT\r\n";
  const std::string same = request.value("If-Match");
  if (traits_.keeps_conditions_of_reads && !same.empty() && same != etag)
    return store_error(kRefused, "PreconditionFailed");
  if (request.value("Range").empty()) return reply_of("200 OK", headers, body);
  if (body.empty()) return store_error("416 No Range", "InvalidRange");
  return range_of(body, request, headers);
}

std::string FakeStore::remove(const HttpRequest& request, const std::string& key) {
  if (const std::string refused = refusal_of_removal(request, key); !refused.empty())
    return refused;
  objects_.erase(key);
  return "HTTP/1.1 204 No Content\r\n\r\n";
}

/// Returns one page of keys. If the request has a delimiter, the page also has common prefixes.
std::string FakeStore::list(const std::string& query) const {
  constexpr std::string_view kBucket = "/bucket/";
  const auto value = [&](const std::string& name) {
    const auto at = query.find("?" + name + "=") != std::string::npos
                        ? query.find("?" + name + "=")
                        : query.find("&" + name + "=");
    if (at == std::string::npos) return std::string();
    const std::size_t begin = at + name.size() + 2;
    return without_percents(query.substr(begin, query.find('&', begin) - begin));
  };
  const std::string prefix = value("prefix"), token = value("continuation-token");
  const bool has_delimiter = !value("delimiter").empty();
  const auto listed = [&](const std::string& key) {
    std::string text = frame::percent_encoded(key);
    for (std::size_t at = 0; traits_.encodes_space_as_plus;) {
      if ((at = text.find("%20", at)) == std::string::npos) break;
      text.replace(at, 3, "+");
    }
    return text;
  };
  std::map<std::string, std::string> items;
  for (const auto& [path, object] : objects_) {
    const std::string key = without_percents(path).substr(kBucket.size());
    if (!key.starts_with(prefix) || key <= value("start-after")) continue;
    const auto slash = has_delimiter ? key.find('/', prefix.size()) : std::string::npos;
    if (slash == std::string::npos)
      items[key] = fmt::format(
          "<Contents><Key>{}</Key><LastModified>1970-01-01T00:00:01.000Z</LastModified>"
          "<ETag>{}</ETag><Size>{}</Size></Contents>",
          listed(key), object.etag, object.body.size());
    else
      items[key.substr(0, slash + 1)] = "<CommonPrefixes><Prefix>" +
                                        listed(key.substr(0, slash + 1)) +
                                        "</Prefix></CommonPrefixes>";
  }
  std::string body = "<ListBucketResult><EncodingType>url</EncodingType>", last;
  int left = std::stoi(value("max-keys"));
  for (auto item = token.empty() ? items.begin() : items.upper_bound(token); item != items.end();
       ++item) {
    if (left-- == 0) {
      body += "<IsTruncated>true</IsTruncated><NextContinuationToken>" + last +
              "</NextContinuationToken>";
      break;
    }
    body += item->second;
    last = item->first;
  }
  return reply_of("200 OK", "", body + "</ListBucketResult>");
}

/// Answers POST ?delete.
std::string FakeStore::remove_all(const HttpRequest& request) {
  if (!traits_.removes_many) return not_implemented(traits_.unknown_request);
  if (request.value("Content-MD5").empty()) return store_error("400 Bad Request", "InvalidRequest");
  const std::string& body = request.body;
  constexpr std::string_view kBegin = "<Key>", kEnd = "</Key>";
  for (std::size_t at = 0; (at = body.find(kBegin, at)) != std::string::npos;) {
    at += kBegin.size();
    const std::string key = body.substr(at, body.find(kEnd, at) - at);
    objects_.erase("/bucket/" + frame::percent_encoded(key));
  }
  return reply_of("200 OK", "", "<DeleteResult></DeleteResult>");
}

}  // namespace bloscfs::test
