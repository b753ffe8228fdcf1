// Extended attributes of the mount: computed ones, those that frames keep as vlmetalayers, and
// those of the source files.

#include <cerrno>
#include <string_view>
#include <system_error>

#include <sys/xattr.h>

#include "frame/throw_errno.hpp"
#include "fs/attributes.hpp"
#include "fs/filesystem.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

constexpr std::string_view kStatsAttribute = "user.bloscfs.stats";

/// True for attributes of the source file that are shown as they are.
bool passes_through(std::string_view name, bool is_container) {
  return !is_container || !name.starts_with(kAttributePrefix);
}

/// Attributes of a container: those of its committed state, and what was done to vlmetalayers
/// since.
std::vector<std::string> shown_attributes(const Content& content) {
  std::vector<std::string> names;
  if (const auto snapshot = content.snapshot()) names = list_attributes(*snapshot);
  for (const auto& [layer, value] : content.uncommitted_vlmetalayers()) {
    const std::string name = std::string(kVlmetaPrefix) + layer;
    std::erase(names, name);
    if (value && value->size() <= kMaxAttributeSize) names.push_back(name);
  }
  return names;
}

std::optional<std::vector<std::uint8_t>> shown_attribute(const Content& content,
                                                         const std::string& name) {
  if (name.starts_with(kVlmetaPrefix)) {
    const auto value = content.uncommitted_vlmetalayer(name.substr(kVlmetaPrefix.size()));
    if (value && *value && (*value)->size() > kMaxAttributeSize) throw_errno(E2BIG, name);
    if (value) return *value;
  }
  const auto snapshot = content.snapshot();
  return snapshot ? read_attribute(*snapshot, name, thread_decoder()) : std::nullopt;
}

}  // namespace

std::vector<std::string> Filesystem::list_attributes(NodeId node) {
  std::vector<std::string> names;
  if (node == kRootId) names.emplace_back(kStatsAttribute);
  if (tree_.is_virtual(node)) return names;
  const SourceEntry entry = tree_.entry(node);
  if (entry.is_container)
    for (std::string& name : shown_attributes(*container(node)->content))
      names.push_back(std::move(name));
  for (std::string& name : tree_.object(node)->attribute_names())
    if (name != kStatsAttribute && is_in_shown_space(name) &&
        passes_through(name, entry.is_container))
      names.push_back(std::move(name));
  return names;
}

std::optional<std::string> Filesystem::computed_attribute(NodeId node, const std::string& name) {
  const auto value = shown_attribute(*container(node)->content, name);
  if (!value) return std::nullopt;
  return std::string(value->begin(), value->end());
}

std::string Filesystem::read_attribute(NodeId node, const std::string& name) {
  if (node == kRootId && name == kStatsAttribute) return to_json(stats_);
  if (!is_in_shown_space(name)) throw_errno(EOPNOTSUPP, name);
  if (tree_.is_virtual(node)) throw_errno(ENODATA, name);
  const SourceEntry entry = tree_.entry(node);
  if (passes_through(name, entry.is_container)) return tree_.object(node)->attribute(name);
  const auto value = computed_attribute(node, name);
  if (!value) throw_errno(ENODATA, name);
  return *value;
}

SourceEntry Filesystem::check_attribute(NodeId node, const std::string& name) {
  if (!is_in_shown_space(name)) throw_errno(EOPNOTSUPP, name);
  if (!writable_) throw_errno(EROFS, name);
  if (tree_.is_virtual(node) || name == kStatsAttribute) throw_errno(EPERM, name);
  const SourceEntry entry = tree_.entry(node);
  if (entry.is_bloscpack) throw_errno(EROFS, name);
  return entry;
}

void Filesystem::set_attribute(NodeId node, const std::string& name, const std::string& value,
                               int flags) {
  const SourceEntry entry = check_attribute(node, name);
  if (passes_through(name, entry.is_container))
    return names_.change(
        node, [&](const SourceObject& object) { object.set_attribute(name, value, flags); });
  if (name.starts_with(kVlmetaPrefix))
    return contents_.set_vlmetalayer(node, names_.home(node), name.substr(kVlmetaPrefix.size()),
                                     value, flags);
  const auto present = computed_attribute(node, name);
  if (present && (flags & XATTR_CREATE) != 0) throw_errno(EEXIST, name);
  if (present != value) throw_errno(EPERM, name);
}

void Filesystem::remove_attribute(NodeId node, const std::string& name) {
  const SourceEntry entry = check_attribute(node, name);
  if (passes_through(name, entry.is_container))
    return names_.change(node, [&](const SourceObject& object) { object.remove_attribute(name); });
  if (name.starts_with(kVlmetaPrefix))
    return contents_.set_vlmetalayer(node, names_.home(node), name.substr(kVlmetaPrefix.size()),
                                     std::nullopt, 0);
  throw_errno(computed_attribute(node, name) ? EPERM : ENODATA, name);
}

}  // namespace bloscfs::fs
