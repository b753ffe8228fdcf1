#include "fs/mount/object_contents.hpp"

#include <cerrno>
#include <exception>
#include <utility>

#include <fmt/core.h>

#include "frame/store/throw_errno.hpp"
#include "fs/source/objects/object_home.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {

std::shared_ptr<ContentHome> ObjectContents::home(NodeId node) {
  return std::make_shared<ObjectHome>(objects_, node, services_.options.suffix, services_.raw,
                                      refuge_, forget_attributes_);
}

void ObjectContents::created(NodeId node) {
  const auto file = std::make_shared<const OpenContainer>(
      objects_.attributes(node), std::make_shared<Content>(services_, now()));
  file->content->make_writable(home(node));
  objects_.set_opened(node, file);
  changed(file, {});
}

std::shared_ptr<const OpenContainer> ObjectContents::open_for_writing(NodeId node) {
  objects_.require_changeable(node);
  if (const auto known = objects_.opened(node); known && known->content->is_overtaken()) {
    follow(known->content);
    frame::throw_errno(ESTALE, objects_.told_path(node));
  }
  objects_.require_present(node);
  auto file = objects_.opened(node);
  if (!file) file = objects_.open(node, services_).container;
  if (!file->content->is_writable()) file->content->make_writable(home(node));
  objects_.set_opened(node, file);
  return file;
}

void ObjectContents::commit(NodeId node) {
  const auto file = objects_.opened(node);
  if (file && file->content->needs_commit()) committer_.commit({file->content});
}

void ObjectContents::removed(const std::shared_ptr<const OpenContainer>& file) {
  if (!file) return;
  file->content->orphan();
  if (!file->content->has_writers()) committer_.drop(*file->content);
}

bool ObjectContents::follow(const std::shared_ptr<Content>& content) {
  return content->follow_source();
}

void ObjectContents::try_follow(NodeId node) {
  const auto file = objects_.opened(node);
  if (!file || file->content->has_just_failed_to_follow()) return;
  try {
    follow(file->content);
  } catch (const std::exception& error) {
    log_.error(fmt::format("{}: {}", objects_.told_path(node), error.what()));
  }
}

bool ObjectContents::has_gone_on(const std::shared_ptr<Content>& content, std::uint64_t epoch) {
  return follow(content) || content->epoch() != epoch;
}

}  // namespace bloscfs::fs
