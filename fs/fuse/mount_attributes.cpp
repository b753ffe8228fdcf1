#include "fs/fuse/mount_attributes.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/fuse/reply.hpp"
#include "fs/fuse/running_options.hpp"
#include "fs/support/request_watch.hpp"
#include "fs/view/attributes.hpp"

namespace bloscfs::fs {
namespace {

using nlohmann::json;

/// Returns the value as JSON text. Replaces invalid UTF-8, which file names may contain.
std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::int64_t microseconds(RequestWatch::Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

/// Describes the requests of one operation; returns null if there were none. Merges `width` buckets
/// into one.
json describe(const RequestWatch& watch, Operation operation, std::size_t width) {
  const Latencies& latencies = watch.latencies(operation);
  json buckets = json::object();
  std::uint64_t count = 0;
  for (std::size_t first = 0; first < Latencies::kBuckets; first += width) {
    const std::size_t end = std::min(first + width, Latencies::kBuckets);
    std::uint64_t in_bucket = 0;
    for (std::size_t i = first; i < end; i++) in_bucket += latencies.count_of(i);
    if (in_bucket == 0) continue;
    buckets[std::to_string(Latencies::longest_of(end - 1))] = in_bucket;
    count += in_bucket;
  }
  if (count == 0) return nullptr;
  return {{"count", count},
          {"total_us", latencies.total_us()},
          {"bytes", watch.bytes(operation)},
          {"buckets", std::move(buckets)}};
}

/// Widens the buckets until the text fits into an attribute.
std::string describe_operations(const RequestWatch& watch) {
  for (std::size_t width = 1;; width *= 2) {
    json all = json::object();
    for (std::size_t i = 0; i < kOperations; i++) {
      const auto operation = static_cast<Operation>(i);
      if (json one = describe(watch, operation, width); !one.is_null())
        all[name_of(operation)] = std::move(one);
    }
    std::string text = text_of(all);
    if (text.size() <= kMaxAttributeSize || width >= Latencies::kBuckets) return text;
  }
}

/// Returns `rest` with the number of elements of `all`, and under `name` as many of them as fit.
template <typename List, typename Describe>
std::string describe_list(const char* name, const List& all, const Describe& describe_one,
                          json rest = json::object()) {
  constexpr std::size_t kFraming = 100;  // bytes of `name` and of the count
  json listed = json::array();
  std::size_t size = kFraming + text_of(rest).size();
  for (const auto& one : all) {
    json described = describe_one(one);
    size += text_of(described).size() + 1;
    if (size > kMaxAttributeSize) break;
    listed.push_back(std::move(described));
  }
  rest["count"] = all.size();
  rest[name] = std::move(listed);
  return text_of(rest);
}

std::string display_path(Source& source, NodeId node) {
  try {
    return source.display_path(node);
  } catch (const std::exception&) {
    return "";  // the node was forgotten
  }
}

std::string describe_requests(fuse_req_t asker) {
  MountState& state = mount_state(asker);
  auto all = state.watch.under_way();
  std::erase_if(all, [own = fuse_req_ctx(asker)->pid](const RequestWatch::UnderWay& request) {
    return request.sender.process == own;
  });
  return describe_list("requests", all, [&](const RequestWatch::UnderWay& request) {
    json described{{"operation", name_of(request.operation)},
                   {"name", display_path(state.mount->source(), request.node)},
                   {"node", request.node},
                   {"user", request.sender.user},
                   {"process", request.sender.process},
                   {"age_us", microseconds(request.age)}};
    if (request.waits_for != frame::WaitReason::nothing) {
      described["waits_for"] = frame::name_of(request.waits_for);
      described["waits_us"] = microseconds(request.waits);
    }
    return described;
  });
}

std::string describe_uncommitted(Mount& mount) {
  const auto describe_one = [](const Mount::Uncommitted& file) {
    json described{{"name", file.path}, {"bytes", file.bytes}};
    if (!file.error.empty()) described["error"] = file.error;
    return described;
  };
  const auto files = mount.uncommitted();
  std::int64_t size = 0;
  for (const Mount::Uncommitted& file : files)
    if (file.bytes > 0) size += file.size;
  const Source::Rescue rescue = mount.source().rescue();
  return describe_list("files", files, describe_one,
                       {{"rescue", rescue.folder},
                        {"rescue_obstacle", rescue.obstacle},
                        {"rescue_free", rescue.free_bytes},
                        {"rescue_needed", size}});
}

}  // namespace

bool may_manage(fuse_req_t request) {
  const uid_t user = fuse_req_ctx(request)->uid;
  return user == 0 || user == ::geteuid();
}

std::optional<std::string> mount_attribute(KernelRequest& request, std::string_view name) {
  if (name == kOperationsAttribute) return describe_operations(mount_state(request).watch);
  if (name != kRequestsAttribute && name != kUncommittedAttribute && name != kOptionsAttribute)
    return std::nullopt;
  if (!may_manage(request)) frame::throw_errno(EPERM, name);
  if (name == kRequestsAttribute) return describe_requests(request);
  if (name == kOptionsAttribute) return mount_state(request).running_options->list();
  request.need_slot();
  return describe_uncommitted(mount_of(request));
}

}  // namespace bloscfs::fs
