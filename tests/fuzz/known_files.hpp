#pragma once
// The nodes and handles that the kernel knows, and the contents that its files must have.

#include <cstdint>
#include <optional>
#include <vector>

#include <sys/stat.h>

#include "tests/fuzz/fuse_channel.hpp"

namespace bloscfs::fuzz {

/// Prints the text and aborts, so that the fuzzer keeps the input.
[[noreturn]] void fail(const std::string& text);

struct KnownNode {
  std::uint64_t id = 0;
  mode_t type = 0;
  std::uint64_t references = 0;
  /// The contents of a regular file; nullopt if they are not known or too long.
  std::optional<std::vector<std::uint8_t>> contents = {};
};

struct KnownHandle {
  std::uint64_t number = 0;
  std::uint64_t node = 0;
  int flags = 0;
};

class KnownFiles {
 public:
  /// Longer contents are not kept.
  static constexpr std::size_t kMostKept = std::size_t{32} << 10;

  /// Starts with the root only.
  KnownFiles() : nodes_{{FUSE_ROOT_ID, S_IFDIR, 1}} {}

  /// Adds a reference.
  KnownNode& enter(const fuse_entry_out& entry);
  /// Forgets all references, unless the node is open or the root. Returns how many there were.
  std::uint64_t forget(std::uint64_t id);
  KnownNode* find(std::uint64_t id);
  /// Returns a node of that type, chosen by `choice`. The first node is the root.
  KnownNode* choose(std::size_t choice, mode_t type);
  KnownNode& choose(std::size_t choice) { return nodes_[choice % nodes_.size()]; }

  void opened(KnownHandle handle) { handles_.push_back(handle); }
  /// Returns nullopt if no handle has such an access mode.
  std::optional<KnownHandle> choose_handle(std::size_t choice, bool reads, bool writes) const;
  void closed(std::uint64_t number);
  const std::vector<KnownHandle>& handles() const { return handles_; }

  /// Forgets all contents, since another program has changed them.
  void contents_unknown();

 private:
  std::vector<KnownNode> nodes_;
  std::vector<KnownHandle> handles_;
};

/// These change known contents as a write, a truncation or a zeroing does.
void put_bytes(KnownNode& node, std::uint64_t at, codec::Bytes bytes);
void set_size(KnownNode& node, std::uint64_t size);
void put_zeros(KnownNode& node, std::uint64_t at, std::uint64_t size);

}  // namespace bloscfs::fuzz
