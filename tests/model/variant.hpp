#pragma once
// The start of a sequence, and its possible operations.

#include <string>
#include <vector>

#include "tests/model/chooser.hpp"
#include "tests/model/operation.hpp"

namespace bloscfs::test {

struct Variant {
  const char* name;
  NamePool names;
  OperationKinds kinds;
  /// Makes SOURCE, and in `model` the files that its mount must show. Returns the path to mount.
  fs_std::path (*prepare)(const fs_std::path& source, const fs_std::path& model);
};

/// SOURCE is one contiguous frame. Only its contents and attributes change.
Variant one_contiguous_frame();
Variant one_sparse_frame();
/// A tree of all types of files.
Variant tree_of_plain_names();
/// A tree whose names ask for arrays.
Variant tree_with_npy_names();

/// Returns the options for the mount of sequence `number`. Successive numbers go through all
/// choices.
std::vector<std::string> mount_options(std::uint64_t number);

}  // namespace bloscfs::test
