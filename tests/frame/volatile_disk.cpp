#include "tests/frame/volatile_disk.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace bloscfs::frame::test {
namespace {

using Kind = StoreOperation::Kind;

bool is_sync(Kind kind) {
  return kind == Kind::sync_file || kind == Kind::sync_directory || kind == Kind::sync_all;
}

bool is_of_directory(Kind kind) { return kind >= Kind::create; }

bool covers(const StoreOperation& sync, const StoreOperation& earlier) {
  if (sync.kind == Kind::sync_all) return true;
  if (is_of_directory(earlier.kind) != (sync.kind == Kind::sync_directory)) return false;
  return sync.node == earlier.node || (earlier.to_node != 0 && sync.node == earlier.to_node);
}

using Entry = std::pair<std::uint64_t, std::string>;

/// Stands for the places of all directories in the tree.
const Entry kPlaces = {0, {}};

bool moves_directory(const MemoryDisk& disk, const StoreOperation& operation) {
  const auto is_directory = [&](std::uint64_t node) {
    return node != 0 && disk.nodes.at(node).is_directory;
  };
  return (operation.kind == Kind::rename || operation.kind == Kind::exchange) &&
         (is_directory(operation.target) || is_directory(operation.other));
}

/// Returns the directory entries that an operation changes.
std::vector<Entry> entries_of(const MemoryDisk& disk, const StoreOperation& operation) {
  if (!is_of_directory(operation.kind)) return {};
  std::vector<Entry> entries = {{operation.node, operation.name}};
  if (operation.to_node != 0) entries.emplace_back(operation.to_node, operation.to);
  if (moves_directory(disk, operation)) entries.push_back(kPlaces);
  return entries;
}

bool coin(std::mt19937& random) { return random() % 2 == 0; }

/// Applies a random choice of the sectors of a write, and perhaps the new file size.
void apply_torn(MemoryDisk& disk, const StoreOperation& write, std::mt19937& random) {
  constexpr std::uint64_t kSector = 512;
  const std::uint64_t end = write.offset + write.bytes.size();
  for (std::uint64_t at = write.offset; at < end;) {
    const std::uint64_t sector_end = std::min((at / kSector + 1) * kSector, end);
    if (coin(random)) {
      StoreOperation piece = write;
      piece.offset = at;
      piece.bytes.assign(
          write.bytes.begin() + static_cast<std::ptrdiff_t>(at - write.offset),
          write.bytes.begin() + static_cast<std::ptrdiff_t>(sector_end - write.offset));
      disk.apply(piece);
    }
    at = sector_end;
  }
  Buffer& bytes = disk.nodes.at(write.node).bytes;
  if (bytes.size() < end && coin(random)) bytes.resize(end);
}

}  // namespace

void VolatileDisk::perform(const StoreOperation& operation) {
  if (operation.kind == Kind::create || operation.kind == Kind::make_directory)
    durable_->nodes[operation.target].is_directory = operation.kind == Kind::make_directory;
  if (!is_sync(operation.kind)) {
    pending_.push_back(operation);
    return;
  }
  // If an operation on a directory entry becomes durable, earlier operations on that entry do, too.
  // Otherwise they could undo it later.
  std::set<Entry> durable_entries;
  std::vector<bool> is_durable(pending_.size());
  for (std::size_t i = pending_.size(); i-- > 0;) {
    const auto entries = entries_of(*durable_, pending_[i]);
    is_durable[i] = covers(operation, pending_[i]) ||
                    std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
                      return durable_entries.count(entry) != 0;
                    });
    if (is_durable[i]) durable_entries.insert(entries.begin(), entries.end());
  }
  std::vector<StoreOperation> rest;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (is_durable[i])
      durable_->apply(pending_[i]);
    else
      rest.push_back(std::move(pending_[i]));
  }
  pending_ = std::move(rest);
}

std::shared_ptr<MemoryDisk> VolatileDisk::after_cut(std::mt19937* random) const {
  auto disk = durable_->clone();
  bool are_moved = true;
  for (const StoreOperation& operation : pending_) {
    if (random != nullptr && operation.kind == Kind::write) {
      apply_torn(*disk, operation, *random);
      continue;
    }
    bool is_there = random == nullptr || coin(*random);
    if (moves_directory(*disk, operation)) is_there = are_moved = are_moved && is_there;
    if (is_there) disk->apply(operation);
  }
  return disk;
}

}  // namespace bloscfs::frame::test
