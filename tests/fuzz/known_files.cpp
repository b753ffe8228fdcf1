#include "tests/fuzz/known_files.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>

namespace bloscfs::fuzz {

void fail(const std::string& text) {
  std::fprintf(stderr, "fuzz_writing: %s\n", text.c_str());
  std::abort();
}

KnownNode& KnownFiles::enter(const fuse_entry_out& entry) {
  KnownNode* known = find(entry.nodeid);
  if (known == nullptr) known = &nodes_.emplace_back(KnownNode{entry.nodeid, 0, 0});
  known->type = entry.attr.mode & S_IFMT;
  known->references++;
  return *known;
}

std::uint64_t KnownFiles::forget(std::uint64_t id) {
  const bool is_open = std::any_of(handles_.begin(), handles_.end(),
                                   [&](const KnownHandle& handle) { return handle.node == id; });
  KnownNode* const node = find(id);
  if (node == nullptr || id == FUSE_ROOT_ID || is_open) return 0;
  const std::uint64_t references = node->references;
  nodes_.erase(nodes_.begin() + (node - nodes_.data()));
  return references;
}

KnownNode* KnownFiles::find(std::uint64_t id) {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&](const KnownNode& node) { return node.id == id; });
  return found == nodes_.end() ? nullptr : &*found;
}

KnownNode* KnownFiles::choose(std::size_t choice, mode_t type) {
  for (std::size_t i = 0; i < nodes_.size(); i++) {
    KnownNode& node = nodes_[(choice + i) % nodes_.size()];
    if (node.type == type) return &node;
  }
  return nullptr;
}

std::optional<KnownHandle> KnownFiles::choose_handle(std::size_t choice, bool reads,
                                                     bool writes) const {
  for (std::size_t i = 0; i < handles_.size(); i++) {
    const KnownHandle& handle = handles_[(choice + i) % handles_.size()];
    const int mode = handle.flags & O_ACCMODE;
    if ((!reads || mode != O_WRONLY) && (!writes || mode != O_RDONLY)) return handle;
  }
  return std::nullopt;
}

void KnownFiles::closed(std::uint64_t number) {
  std::erase_if(handles_, [&](const KnownHandle& handle) { return handle.number == number; });
}

void KnownFiles::contents_unknown() {
  for (KnownNode& node : nodes_) node.contents.reset();
}

void set_size(KnownNode& node, std::uint64_t size) {
  if (!node.contents) return;
  if (size > KnownFiles::kMostKept)
    node.contents.reset();
  else
    node.contents->resize(size);
}

void put_bytes(KnownNode& node, std::uint64_t at, codec::Bytes bytes) {
  if (!node.contents || bytes.empty()) return;
  if (at + bytes.size() > node.contents->size()) set_size(node, at + bytes.size());
  if (node.contents)
    std::copy(bytes.begin(), bytes.end(), node.contents->begin() + static_cast<std::ptrdiff_t>(at));
}

void put_zeros(KnownNode& node, std::uint64_t at, std::uint64_t size) {
  if (!node.contents || at >= node.contents->size()) return;
  const std::uint64_t count = std::min(size, node.contents->size() - at);
  std::fill_n(node.contents->begin() + static_cast<std::ptrdiff_t>(at), count, std::uint8_t{0});
}

}  // namespace bloscfs::fuzz
