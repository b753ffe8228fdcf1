#pragma once
// The operations in random sequences. Each family is a table. A row says how often an operation is
// chosen, how its arguments are chosen, and how it is done in one directory.

#include <cstdint>
#include <string>
#include <vector>

#include <time.h>

#include "tests/model/side.hpp"

namespace bloscfs::test {

class Chooser;
struct OperationKind;

inline constexpr std::size_t kNoSlot = ~std::size_t{0};

/// The arguments of an operation. Its kind decides which of them it uses. Paths are relative to the
/// directory.
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

/// What an operation may do to a file. The check of times uses it.
enum class Touches {
  nothing,
  contents,  ///< of the file that `path` names, or that is open in `slot`
  times,     ///< sets them
  names,     ///< moves files
};

struct OperationKind {
  const char* name;
  int weight;
  Touches touches;
  /// Returns false if the operation is not possible now.
  bool (*choose)(Chooser&, Operation&);
  Outcome (*perform)(Side&, const Operation&);
};

using OperationKinds = std::vector<OperationKind>;

/// Opens, reads, writes, and all other operations on contents.
const OperationKinds& content_operations();
/// Shared mappings.
const OperationKinds& mapping_operations();
/// Whole files, written as programs write them: NPY files, frames, and files that are renamed over
/// others.
const OperationKinds& saving_operations();
/// Modes, times, extended attributes.
const OperationKinds& attribute_operations();
/// Making, moving and removing names.
const OperationKinds& name_operations();

/// Chooses a path, for operations that work on all types of files.
bool choose_path(Chooser& chooser, Operation& operation);

/// Returns one line with all that is needed to repeat the operation by hand.
std::string describe(const Operation& operation);
std::string describe(const Outcome& outcome);

}  // namespace bloscfs::test
