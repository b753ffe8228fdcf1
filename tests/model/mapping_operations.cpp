#include <algorithm>

#include <fcntl.h>

#include "tests/model/chooser.hpp"
#include "tests/model/operation.hpp"

namespace bloscfs::test {

namespace {

bool can_write(const OpenFile& file) { return (file.flags & O_ACCMODE) == O_RDWR; }

bool choose_map(Chooser& chooser, Operation& operation) {
  if (!chooser.open_slot(operation.slot)) return false;
  const auto& file = chooser.model().files[operation.slot];
  if ((file.flags & O_ACCMODE) == O_WRONLY) return false;
  operation.size = chooser.size_of(operation.slot);
  operation.flags = can_write(file) && chooser.chance(80) ? 1 : 0;
  operation.other_slot = chooser.below(kMappings);
  return operation.size > 0;
}

bool choose_mapping(Chooser& chooser, Operation& operation) {
  return chooser.open_mapping(operation.slot);
}

/// Chooses a range within the mapping and within the file's present size.
bool choose_part(Chooser& chooser, Operation& operation) {
  if (!chooser.open_mapping(operation.slot)) return false;
  const Mapping& mapping = chooser.model().mappings[operation.slot];
  const auto end = static_cast<std::int64_t>(std::min(mapping.size(), mapping.file_size()));
  if (end == 0) return false;
  operation.offset = std::min(chooser.offset(end), end - 1);
  operation.size = std::min(chooser.length(), end - operation.offset);
  return true;
}

bool choose_store(Chooser& chooser, Operation& operation) {
  if (!choose_part(chooser, operation)) return false;
  operation.bytes = chooser.bytes(static_cast<std::size_t>(operation.size));
  return chooser.model().mappings[operation.slot].writable();
}

Outcome perform_map(Side& side, const Operation& operation) {
  const int fd = side.files[operation.slot].fd.get();
  Mapping& mapping = side.mappings[operation.other_slot];
  mapping = Mapping();
  try {
    mapping = Mapping(fd, static_cast<std::size_t>(operation.size), operation.flags != 0);
    if (side.is_model()) mapping.keep_descriptor(fd);
  } catch (const std::system_error& error) {
    return {error.code().value(), -1, {}, {}};
  }
  return {};
}

Outcome perform_unmap(Side& side, const Operation& operation) {
  side.mappings[operation.slot] = Mapping();
  return {};
}

Outcome perform_load(Side& side, const Operation& operation) {
  return side.mappings[operation.slot].read(static_cast<std::size_t>(operation.offset),
                                            static_cast<std::size_t>(operation.size));
}

Outcome perform_store(Side& side, const Operation& operation) {
  return side.mappings[operation.slot].write(static_cast<std::size_t>(operation.offset),
                                             operation.bytes);
}

Outcome perform_sync(Side& side, const Operation& operation) {
  return side.mappings[operation.slot].sync();
}

}  // namespace

const OperationKinds& mapping_operations() {
  static const OperationKinds kinds = {
      {"map", 4, Touches::nothing, choose_map, perform_map},
      {"unmap", 2, Touches::nothing, choose_mapping, perform_unmap},
      {"load_mapped", 5, Touches::nothing, choose_part, perform_load},
      {"store_mapped", 6, Touches::nothing, choose_store, perform_store},
      {"msync", 2, Touches::nothing, choose_mapping, perform_sync},
  };
  return kinds;
}

}  // namespace bloscfs::test
