#pragma once
// What the kernel knows of a mount, and what its files must hold.

#include <cstdint>
#include <optional>
#include <vector>

#include <sys/stat.h>

#include "tests/fuzz/fuse_channel.hpp"

namespace bloscfs::fuzz {

/// Ends the process with what should have been, so that the fuzzer keeps the input.
[[noreturn]] void fail(const std::string& text);

struct KnownNode {
  std::uint64_t id = 0;
  mode_t type = 0;
  std::uint64_t references = 0;
  /// Of a regular file; none where that is not known, or too much.
  std::optional<std::vector<std::uint8_t>> contents = {};
};

struct KnownHandle {
  std::uint64_t number = 0;
  std::uint64_t node = 0;
  int flags = 0;
};

class KnownFiles {
 public:
  /// Contents that are longer are not kept.
  static constexpr std::size_t kMostKept = std::size_t{32} << 10;

  /// The root alone.
  KnownFiles() : nodes_{{FUSE_ROOT_ID, S_IFDIR, 1}} {}

  /// One reference more.
  KnownNode& enter(const fuse_entry_out& entry);
  /// Forgets all references, unless the node is open or the root. Returns how many there were.
  std::uint64_t forget(std::uint64_t id);
  KnownNode* find(std::uint64_t id);
  /// The one of that type that `choice` stands for; the first one of all is the root.
  KnownNode* choose(std::size_t choice, mode_t type);
  KnownNode& choose(std::size_t choice) { return nodes_[choice % nodes_.size()]; }

  void opened(KnownHandle handle) { handles_.push_back(handle); }
  /// nullopt where none has such an access mode.
  std::optional<KnownHandle> choose_handle(std::size_t choice, bool reads, bool writes) const;
  void closed(std::uint64_t number);
  const std::vector<KnownHandle>& handles() const { return handles_; }

  /// Others have changed what the files hold.
  void contents_unknown();

 private:
  std::vector<KnownNode> nodes_;
  std::vector<KnownHandle> handles_;
};

/// What writing, truncating and zeroing makes of known contents.
void put_bytes(KnownNode& node, std::uint64_t at, codec::Bytes bytes);
void set_size(KnownNode& node, std::uint64_t size);
void put_zeros(KnownNode& node, std::uint64_t at, std::uint64_t size);

}  // namespace bloscfs::fuzz
