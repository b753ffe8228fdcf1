#pragma once
// The operations that random sequences are made of. Each family is a table: how often an operation
// is tried, how its arguments are chosen, and how it is done in one directory.

#include <cstdint>
#include <string>
#include <vector>

#include <time.h>

#include "tests/model/side.hpp"

namespace bloscfs::test {

class Chooser;
struct OperationKind;

inline constexpr std::size_t kNoSlot = ~std::size_t{0};

/// Arguments; which of them count depends on the kind. Paths are relative to the directory.
struct Operation {
  const OperationKind* kind = nullptr;
  std::string path, other;
  std::size_t slot = 0, other_slot = kNoSlot;  ///< of open files, or of mappings
  int flags = 0;
  mode_t mode = 0;
  std::int64_t offset = 0, other_offset = 0, size = 0;
  ByteVector bytes;
  std::string text;
  timespec times[2] = {};
};

/// What an operation may do to a file, for the check of its times.
enum class Touches {
  nothing,
  contents,  ///< of the file that `path` names, or that is open in `slot`
  times,     ///< sets them
  names,     ///< moves files about
};

struct OperationKind {
  const char* name;
  int weight;
  Touches touches;
  /// False when there is nothing that it could be done to now.
  bool (*choose)(Chooser&, Operation&);
  Outcome (*perform)(Side&, const Operation&);
};

using OperationKinds = std::vector<OperationKind>;

/// Opening, reading, writing and everything else that is done to contents.
const OperationKinds& content_operations();
/// Shared mappings.
const OperationKinds& mapping_operations();
/// Whole files written the way that programs write them: NPY files, frames, by rename.
const OperationKinds& saving_operations();
/// Modes, times, extended attributes.
const OperationKinds& attribute_operations();
/// Making, moving and removing names.
const OperationKinds& name_operations();

/// The choice for operations on whatever has a name.
bool choose_path(Chooser& chooser, Operation& operation);

/// One line with everything that is needed to do it by hand.
std::string describe(const Operation& operation);
std::string describe(const Outcome& outcome);

}  // namespace bloscfs::test
