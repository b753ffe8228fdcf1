#include "frame/remote/http_tree.hpp"

#include <cerrno>
#include <utility>

#include "frame/remote/index_names.hpp"
#include "frame/remote/index_page.hpp"
#include "frame/remote/percent.hpp"
#include "frame/remote/remote_error.hpp"
#include "frame/remote/remote_object.hpp"

namespace bloscfs::frame::inline remote {

HttpTree::HttpTree(std::shared_ptr<HttpClient> client, const Url& root,
                   std::shared_ptr<DiskCache> cache, std::shared_ptr<Traffic> traffic)
    : client_(std::move(client)),
      cache_(std::move(cache)),
      traffic_(std::move(traffic)),
      root_(root) {
  if (root_.path.ends_with('/')) return;
  single_ = percent_decoded(root_.path.substr(root_.path.rfind('/') + 1));
  if (!is_entry_name(*single_)) throw UrlError("the last component of a URL is not a file name");
}

Url HttpTree::url_of(const std::string& path) const {
  if (path.empty() || path == single_) return root_;
  Url url = root_;
  url.path += percent_encoded(single_ ? path.substr(single_->size()) : path);
  url.query.clear();
  return url;
}

/// True if the tree may have the object. A single object may turn out to be the directory of a
/// sparse frame, which has objects below it.
bool HttpTree::is_below_root(const std::string& path) const {
  return !single_ || path == *single_ || path.starts_with(*single_ + "/");
}

std::vector<ObjectEntry> HttpTree::list(const std::string& directory, MemoryCharge& charge) {
  if (single_) throw RemoteError(ENOTDIR, "no directory: the URL does not end in '/'");
  WebRequest request;
  request.place.url = url_of(directory);
  // The root's path already ends in '/', even if a query follows.
  if (!directory.empty()) request.place.url.path += '/';
  request.whole_size = kMaxIndexPage;
  const AnswerMemory::Closer memory(charge);
  request.memory = memory.get();
  HttpAnswer answer = client_->send(std::move(request)).wait();
  if (answer.headers.status != kHttpOk)
    throw RemoteError(EIO, "HTTP status 412, though there was no condition");
  IndexNames names(answer.place.url, charge);
  read_index_page(answer.headers.field("content-type"), answer.body, names);
  // The page and the entries together may take more memory than a listing may have.
  answer = HttpAnswer();
  memory.get()->close();
  return names.entries();
}

std::shared_ptr<const ObjectSource> HttpTree::open(
    const std::string& path, const std::shared_ptr<const ObjectSource>& known) {
  if (path.empty() || !is_below_root(path)) throw RemoteError(ENOENT, "no such object");
  HttpPlace place;
  place.url = url_of(path);
  return RemoteObject::open(client_, std::move(place),
                            std::dynamic_pointer_cast<const RemoteObject>(known), traffic_, cache_);
}

std::shared_ptr<ObjectOpening> HttpTree::begin(const std::string& path,
                                               std::span<const ByteRange> ranges,
                                               const void* group) {
  HttpPlace place;
  place.url = url_of(path);
  return std::make_shared<RemoteOpening>(client_, std::move(place), traffic_, cache_, ranges,
                                         group);
}

}  // namespace bloscfs::frame::inline remote
